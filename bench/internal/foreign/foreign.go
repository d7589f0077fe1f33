// Package foreign measures timers in other languages. Each language has a harness, which is
// built on demand and runs one measurement per process.
package foreign

import (
	"cmp"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/spec"
)

//go:embed java rust
var sources embed.FS

// Harness is a built harness.
type Harness struct {
	Version string // of the timer and its runtime
	dir     string
	command []string
}

// builders build the harness of an engine.
var builders = map[string]func(h *Harness) error{"Netty": buildNetty, "JDK": buildJDK, "tokio": buildTokio}

// New builds the harness of an engine. Its error names a missing program or package.
func New(engine string) (*Harness, error) {
	dir, err := os.MkdirTemp("", "hwt-bench-")
	if err != nil {
		return nil, err
	}
	h := &Harness{dir: dir}
	if err = os.CopyFS(dir, sources); err == nil {
		err = builders[engine](h)
	}
	if err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// Close removes the files of the harness.
func (h *Harness) Close() { os.RemoveAll(h.dir) }

// Command returns the command line that measures s.
func (h *Harness) Command(s spec.Spec) []string {
	return append(slices.Clone(h.command), s.Measure,
		fmt.Sprintf("n=%d", s.N), fmt.Sprintf("pending=%d", s.Pending), fmt.Sprintf("producers=%d", s.Producers),
		fmt.Sprintf("span=%d", s.Span), fmt.Sprintf("rate=%d", s.Rate), fmt.Sprintf("delay=%d", s.Delay))
}

// run runs a program in a folder of the harness, and returns its output.
func (h *Harness) run(folder, program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = filepath.Join(h.dir, folder)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return string(out), err
}

// need returns the last path that matches a pattern. The error names the Debian packages that
// provide it and the programs.
func need(packages, pattern string, programs ...string) (string, error) {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("there is no %s here (Debian: %s)", program, packages)
		}
	}
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		return "", cmp.Or(err, fmt.Errorf("there is no %s (Debian: %s)", pattern, packages))
	}
	return paths[len(paths)-1], nil
}

func buildNetty(h *Harness) error {
	jar, err := need("default-jdk-headless and libnetty-java", "/usr/share/java/netty-common-[0-9]*.jar", "java", "javac")
	if err != nil {
		return err
	}
	if _, err := h.run("java", "javac", "-nowarn", "-cp", jar, "Harness.java", "Measured.java"); err != nil {
		return err
	}
	version, err := h.run("java", "java", "-version")
	if err != nil {
		return err
	}
	netty := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jar), "netty-common-"), ".jar")
	jvm, _, _ := strings.Cut(strings.ReplaceAll(version, `"`, ""), "\n")
	h.Version = netty + " on " + jvm
	// Only the heap's bound is set, as in most programs.
	h.command = []string{"java", "-XX:MaxRAMPercentage=60", "-cp", jar + ":" + filepath.Join(h.dir, "java"), "Harness"}
	return nil
}

// buildJDK builds the same harness, with the executor instead of Netty's timer.
func buildJDK(h *Harness) error {
	if err := buildNetty(h); err != nil {
		return err
	}
	_, h.Version, _ = strings.Cut(h.Version, " on ")
	h.command = slices.Insert(h.command, 1, "-Dtimer=jdk")
	return nil
}

// crates is the folder of the sources of Debian's librust packages.
const crates = "/usr/share/cargo/registry"

func buildTokio(h *Harness) error {
	crate, err := need("cargo and librust-tokio-dev", crates+"/tokio-[0-9]*", "cargo", "rustc")
	if err != nil {
		return err
	}
	// Without the network.
	_, err = h.run("rust", "cargo", "build", "--quiet", "--release", "--offline", "--target-dir=target",
		"--config=source.crates-io.replace-with='debian'", "--config=source.debian.directory='"+crates+"'")
	if err != nil {
		return err
	}
	compiler, err := h.run("rust", "rustc", "--version")
	if err != nil {
		return err
	}
	changes, err := os.ReadFile(filepath.Join(crate, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(string(changes), "# "), "\n") // "# 1.2.3 (January 2, 2023)"
	h.Version = version + " with " + strings.TrimSpace(compiler)
	h.command = []string{filepath.Join(h.dir, "rust", "target", "release", "harness")}
	return nil
}
