// Package netty runs the measurements on Netty's timer: a harness in Java,
// compiled against the jars that the system has.
package netty

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/spec"
)

//go:embed harness/*.java
var sources embed.FS

// Harness is the compiled harness.
type Harness struct {
	dir       string
	classPath string
	Version   string // Netty's and the JVM's
}

// jars is where Debian's libnetty-java puts them.
const jars = "/usr/share/java"

// New compiles the harness. An error says what is missing.
func New() (*Harness, error) {
	for _, tool := range []string{"java", "javac"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("there is no %s here (Debian: default-jdk-headless)", tool)
		}
	}
	jar, err := findJar()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "hwt-netty-")
	if err != nil {
		return nil, err
	}
	h := &Harness{dir: dir, classPath: jar + string(filepath.ListSeparator) + dir}
	if err := h.compile(jar); err != nil {
		h.Close()
		return nil, err
	}
	h.Version = version(jar)
	return h, nil
}

// findJar returns the jar with the timer.
func findJar() (string, error) {
	for _, name := range []string{"netty-common.jar", "netty-all.jar"} {
		if path := filepath.Join(jars, name); exists(path) {
			return path, nil
		}
	}
	return "", errors.New("there is no netty-common.jar in " + jars + " (Debian: libnetty-java)")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// compile writes the sources out and compiles them.
func (h *Harness) compile(jar string) error {
	names, err := fs.Glob(sources, "harness/*.java")
	if err != nil {
		return err
	}
	args := []string{"-nowarn", "-cp", jar, "-d", h.dir}
	for _, name := range names {
		text, err := sources.ReadFile(name)
		if err != nil {
			return err
		}
		path := filepath.Join(h.dir, filepath.Base(name))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
		args = append(args, path)
	}
	if out, err := exec.Command("javac", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("javac: %w: %s", err, out)
	}
	return nil
}

// version returns Netty's version, from the jar's other name, and the JVM's.
func version(jar string) string {
	netty := "of unknown version"
	prefix := strings.TrimSuffix(jar, ".jar") + "-"
	if named, err := filepath.Glob(prefix + "[0-9]*.jar"); err == nil && len(named) > 0 {
		netty = strings.TrimSuffix(strings.TrimPrefix(named[0], prefix), ".jar")
	}
	out, err := exec.Command("java", "-version").CombinedOutput()
	if err != nil {
		return netty
	}
	jvm, _, _ := strings.Cut(string(out), "\n")
	return netty + " on " + strings.ReplaceAll(jvm, `"`, "")
}

// Command returns the command line that measures s.
func (h *Harness) Command(s spec.Spec) []string {
	return []string{
		// Nothing but the heap's bound is set: users seldom set more.
		"java", "-XX:MaxRAMPercentage=60", "-cp", h.classPath, "Harness", s.Measure,
		fmt.Sprintf("n=%d", s.N), fmt.Sprintf("pending=%d", s.Pending),
		fmt.Sprintf("producers=%d", s.Producers), fmt.Sprintf("span=%d", int64(s.Span)),
	}
}

// measured are the measurements that the harness has.
var measured = []string{
	spec.Schedule, spec.Cancel, spec.ResetLater, spec.ResetEarlier, spec.ResetAll, spec.Heartbeats,
	spec.Heap, spec.Expire, spec.Idle, spec.Deadlines, spec.Correct,
}

// Measures reports whether the harness has that measurement.
func Measures(measure string) bool { return slices.Contains(measured, measure) }

// Close removes what was compiled.
func (h *Harness) Close() { os.RemoveAll(h.dir) }
