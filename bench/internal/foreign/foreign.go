// Package foreign measures timers that are not in Go. Each has a harness in its own
// language, which is built when it is needed and runs one measurement a process.
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

// Harness is a harness that was built.
type Harness struct {
	Version string // of the timer and of what runs it
	dir     string
	command []string
}

// builders build the harness of an engine in a folder that holds its sources.
var builders = map[string]func(h *Harness) error{"Netty": buildNetty, "tokio": buildTokio}

// folders hold the sources of an engine's harness.
var folders = map[string]string{"Netty": "netty", "tokio": "tokio"}

// New builds the harness of an engine. Its error names what is missing.
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

// Close removes what was built.
func (h *Harness) Close() { os.RemoveAll(h.dir) }

// Command returns the command line that measures s.
func (h *Harness) Command(s spec.Spec) []string {
	return append(slices.Clone(h.command), s.Measure,
		fmt.Sprintf("n=%d", s.N), fmt.Sprintf("pending=%d", s.Pending), fmt.Sprintf("producers=%d", s.Producers),
		fmt.Sprintf("span=%d", s.Span), fmt.Sprintf("rate=%d", s.Rate), fmt.Sprintf("delay=%d", s.Delay),
		fmt.Sprintf("tick=%d", s.Tick))
}

// Measures reports whether harnesses have that measurement.
func Measures(measure string) bool {
	switch measure {
	case spec.Saturated, spec.Goroutines, spec.Moved: // goroutines are Go's
		return false
	}
	return true
}

// need returns an error if a program is missing.
func need(pkg string, programs ...string) error {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("there is no %s here (Debian: %s)", program, pkg)
		}
	}
	return nil
}

// run runs a program in the harness's folder. Its output is part of the error.
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
