// Package foreign measures timers in other languages. Each has a harness in its own language,
// which is built on demand and runs one measurement per process.
package foreign

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/hashedwheel/hwt/bench/internal/spec"
)

//go:embed netty tokio
var sources embed.FS

// Harness is a built harness.
type Harness struct {
	Version string // of the timer and its runtime
	dir     string
	command []string
}

// builders build the harness of an engine in a folder that holds its sources.
var builders = map[string]func(h *Harness) error{"Netty": buildNetty, "JDK": buildJDK, "tokio": buildTokio}

// folders name the sources of each harness.
var folders = map[string]string{"Netty": "netty", "JDK": "netty", "tokio": "tokio"}

// New builds the harness of an engine. Its error names a missing program or package.
func New(engine string) (*Harness, error) {
	dir, err := os.MkdirTemp("", "hwt-bench-")
	if err != nil {
		return nil, err
	}
	h := &Harness{dir: dir}
	if err := h.build(engine); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

func (h *Harness) build(engine string) error {
	files, err := fs.Sub(sources, folders[engine])
	if err != nil {
		return err
	}
	if err := os.CopyFS(h.dir, files); err != nil {
		return err
	}
	return builders[engine](h)
}

// Close removes the files of the harness.
func (h *Harness) Close() { os.RemoveAll(h.dir) }

// Command returns the command line that measures s.
func (h *Harness) Command(s spec.Spec) []string {
	return append(slices.Clone(h.command), s.Measure,
		fmt.Sprintf("n=%d", s.N), fmt.Sprintf("pending=%d", s.Pending), fmt.Sprintf("producers=%d", s.Producers),
		fmt.Sprintf("span=%d", s.Span), fmt.Sprintf("rate=%d", s.Rate), fmt.Sprintf("delay=%d", s.Delay))
}

// Measures reports whether harnesses have that measurement.
func Measures(measure string) bool {
	return !slices.Contains([]string{spec.Saturated, spec.Lone, spec.Correct, spec.Moved}, measure)
}

// need returns an error that names a missing program.
func need(pkg string, programs ...string) error {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("there is no %s here (Debian: %s)", program, pkg)
		}
	}
	return nil
}

// run runs a program in the harness's folder. The error contains its output.
func (h *Harness) run(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), "CARGO_TARGET_DIR="+filepath.Join(h.dir, "target"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return nil
}

// newest returns the last path that matches, in the order of names.
func newest(pattern string) (string, bool) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		return "", false
	}
	return paths[len(paths)-1], true
}
