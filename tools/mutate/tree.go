package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// tree is a copy of the library that is broken.
type tree struct {
	ctx      context.Context // ends the tests
	dir      string
	patience time.Duration            // with tests that were not measured
	took     map[string]time.Duration // by the sound tests, by key
}

// skipped are the folders that no library test needs.
var skipped = map[string]bool{".git": true, "bench": true, "docs": true, "examples": true, "tools": true}

// copyTree copies the library in root to a temporary folder.
func copyTree(ctx context.Context, root string, patience time.Duration) (*tree, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	t := &tree{ctx: ctx, dir: dir, patience: patience}
	if err := os.Mkdir(t.temp(), 0o755); err != nil {
		t.remove()
		return nil, err
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && skipped[name]:
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(dir, name), 0o755)
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), text, 0o644)
	})
	if err != nil {
		t.remove()
		return nil, err
	}
	return t, nil
}

// temp is the folder for the go command's work. An interrupted command may leave some.
func (t *tree) temp() string { return filepath.Join(t.dir, ".temp") }

func (t *tree) remove() { _ = os.RemoveAll(t.dir) }

// sound runs all the tests on the sound library: a test that fails there catches nothing.
// It returns their times, from which limit derives when a test hangs.
func (t *tree) sound(all []mutant) (took map[string]time.Duration, err error) {
	took = make(map[string]time.Duration)
	for _, m := range all {
		if _, tried := took[t.key(m)]; tried {
			continue
		}
		began := time.Now()
		if out, err := t.test(m); err != nil {
			return nil, cmp.Or(t.ctx.Err(), fmt.Errorf("the tests fail before anything is broken:\n%s", out))
		}
		took[t.key(m)] = time.Since(began)
	}
	return took, nil
}

// key distinguishes one choice of tests from another.
func (t *tree) key(m mutant) string {
	return t.moduleOf(m) + " " + strings.Join(m.tests, " ") + " " + m.run
}

// limit is the time for the tests of m: much longer than on the sound library, and some
// more for a busy machine.
func (t *tree) limit(m mutant) time.Duration {
	if took, measured := t.took[t.key(m)]; measured {
		return 5*took + 30*time.Second
	}
	return t.patience
}

// chances is the number of runs before a mutant has survived: some show only when
// goroutines meet.
const chances = 3

// try breaks the tree, runs the tests, and restores the tree.
func (t *tree) try(m mutant) (v verdict) {
	began := time.Now()
	v.mutant = m
	defer func() { v.took = time.Since(began) }()
	path := filepath.Join(t.dir, m.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return v.with(invalid, err.Error())
	}
	if n := strings.Count(string(text), m.from); n != 1 {
		return v.with(invalid, fmt.Sprintf("the text to replace is there %d times", n))
	}
	defer func() {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			panic(err) // the copy would stay broken
		}
	}()
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), m.from, m.to, 1)), 0o644); err != nil {
		return v.with(invalid, err.Error())
	}
	if out, err := t.run(filepath.Dir(path), "build", "."); err != nil {
		return v.with(invalid, "does not compile: "+out)
	}
	for range chances {
		out, err := t.test(m)
		if v = v.judge(out, err); v.fate != survived {
			break
		}
	}
	return v
}

// test runs the tests that must find m, and takes no result from the test cache. It runs named subtests in full: -short
// may skip them.
func (t *tree) test(m mutant) (out string, err error) {
	args := []string{"test", "-count=1", fmt.Sprint("-short=", !strings.Contains(m.run, "/")), "-failfast", "-vet=off", "-timeout", t.limit(m).String(), "-run", m.run}
	return t.run(filepath.Join(t.dir, t.moduleOf(m)), append(args, m.tests...)...)
}

// moduleOf returns the folder, below the root, of the module whose tests must find m.
func (t *tree) moduleOf(m mutant) string {
	if m.module != "" {
		return m.module
	}
	dir := filepath.Dir(m.file)
	for ; dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(t.dir, dir, "go.mod")); err == nil {
			break
		}
	}
	return dir
}

// run runs the go command in dir.
func (t *tree) run(dir string, args ...string) (out string, err error) {
	cmd := exec.CommandContext(t.ctx, "go", args...)
	endTogether(cmd)
	cmd.WaitDelay = 10 * time.Second // for tests that ignore the signal, and hold the output
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOTMPDIR="+t.temp())
	text, err := cmd.CombinedOutput()
	return string(text), err
}
