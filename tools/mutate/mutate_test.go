package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// library is a minimal library for mutants.
var library = map[string]string{
	"go.mod": "module library\n\ngo 1.25\n",
	"sum.go": "package library\n\nfunc Sum(a, b int) int { return a + b }\n\nfunc Wait(c chan int) { <-c }\n\nconst spare = 1 + 1\n",
	"sum_test.go": `package library

import "testing"

func TestSum(t *testing.T) {
	t.Run("small", func(t *testing.T) {
		if Sum(1, 2) != 3 {
			t.Error("wrong")
		}
	})
}

func TestWait(t *testing.T) { Wait(closed()) }

func closed() chan int {
	c := make(chan int)
	close(c)
	return c
}
`,
	"part/go.mod":      "module library/part\n\ngo 1.25\n",
	"part/one.go":      "package part\n\nconst one = 1\n",
	"part/one_test.go": "package part\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif one != 1 {\n\t\tt.Error(one)\n\t}\n}\n",
}

// place writes the library to a temporary folder.
func place(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "part"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range library {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// Without this test, a mutant whose text has changed would fail only after minutes.
func TestEveryMutantFitsTheLibrary(t *testing.T) {
	all, err := mutants()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Errorf("only %d mutants were read", len(all))
	}
	for _, m := range all {
		text, err := os.ReadFile(filepath.Join("..", "..", m.file))
		if err != nil {
			t.Error(err)
			continue
		}
		if n := strings.Count(string(text), m.from); n != 1 {
			t.Errorf("%s: %s: found %d times (expected: once):\n%s", m.file, m.breaks, n, m.from)
		}
	}
}

// testFunction matches the declaration of a test.
var testFunction = regexp.MustCompile(`(?m)^func (Test\w*)\(`)

// A pattern that matches no test would let a mutant survive.
func TestEveryMutantNamesExistingTests(t *testing.T) {
	all, err := mutants()
	if err != nil {
		t.Fatal(err)
	}
	library := &tree{dir: filepath.Join("..", "..")}
	for _, m := range all {
		pattern, _, _ := strings.Cut(m.run, "/")
		run, err := regexp.Compile(pattern)
		if err != nil {
			t.Error(err)
			continue
		}
		found := false
		for _, folder := range m.tests {
			folder = filepath.Join(library.dir, library.moduleOf(m), strings.TrimSuffix(folder, "/..."))
			if _, err := os.Stat(folder); err != nil {
				t.Errorf("%s: %s: %v", m.file, m.breaks, err)
			}
			files, _ := filepath.Glob(filepath.Join(folder, "*_test.go"))
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range testFunction.FindAllSubmatch(text, -1) {
					found = found || run.Match(name[1])
				}
			}
		}
		if !found && m.run != "" {
			t.Errorf("%s: %s: -run %s matches no test of %v", m.file, m.breaks, m.run, m.tests)
		}
	}
}

func TestEveryFateIsRecognized(t *testing.T) {
	root := place(t)
	tree, err := copyTree(t.Context(), root, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.remove()
	for _, c := range []struct {
		from, to string
		want     fate
		by       string
	}{
		{"a + b", "a - b", failed, "TestSum/small"},
		{"a + b", "panics()\n}\n\nfunc panics() int { panic(1)", failed, "TestSum/small"},
		{"{ <-c }", "{ go panic(1); <-c; <-make(chan int) }", crashed, "panic: 1"},
		{"{ <-c }", "{ for c != nil {} }", hung, "TestWait"},
		{"1 + 1", "2 + 2", survived, "go test ."},
		{"a + b", "a + c", invalid, "does not compile"},
		{"return a * b", "", invalid, "0 times"},
		{"int", "int64", invalid, "3 times"},
	} {
		tree.patience = 20 * time.Second
		if c.want == hung {
			tree.patience = time.Second
		}
		v := tree.try(mutant{file: "sum.go", from: c.from, to: c.to, tests: []string{"."}})
		if v.fate != c.want || !strings.Contains(v.by, c.by) {
			t.Errorf("%s → %s: %s by %q, want %s by %q", c.from, c.to, v.fate, v.by, c.want, c.by)
		}
		if text, _ := os.ReadFile(filepath.Join(tree.dir, "sum.go")); string(text) != library["sum.go"] {
			t.Fatal("not restored")
		}
	}
	if text, _ := os.ReadFile(filepath.Join(root, "sum.go")); string(text) != library["sum.go"] {
		t.Error("the original was touched")
	}
}

func TestEachRunIsARealOne(t *testing.T) {
	tree, err := copyTree(t.Context(), place(t), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.remove()
	for range 2 {
		if out, err := tree.test(mutant{file: "sum.go", tests: []string{"."}}); err != nil || strings.Contains(out, "(cached)") {
			t.Error(out, err)
		}
	}
}

func TestMutantsOfANestedModuleAreTestedThere(t *testing.T) {
	m := mutant{file: "part/one.go", from: "= 1", to: "= 2", tests: []string{"."}}
	if err := try(t.Context(), place(t), []mutant{m}, 1, time.Minute); err != nil {
		t.Error(err)
	}
}

func TestSurvivorFailsTheRun(t *testing.T) {
	root := place(t)
	m := mutant{file: "sum.go", from: "1 + 1", to: "2 + 2", breaks: "nothing", tests: []string{"."}}
	if err := try(t.Context(), root, []mutant{m}, 1, time.Minute); err == nil || !strings.Contains(err.Error(), "1 survived") {
		t.Error(err)
	}
}

func TestFailingTestsCatchNoMutant(t *testing.T) {
	root := place(t)
	if err := os.WriteFile(filepath.Join(root, "sum.go"), []byte(strings.Replace(library["sum.go"], "a + b", "a - b", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	m := mutant{file: "sum.go", from: "1 + 1", to: "2 + 2", tests: []string{"."}}
	if err := try(t.Context(), root, []mutant{m}, 1, time.Minute); err == nil || !strings.Contains(err.Error(), "before anything is broken") {
		t.Error(err)
	}
}

func TestInterruptEndsTheRunAndLeavesNoTree(t *testing.T) {
	root, temp := place(t), t.TempDir()
	t.Setenv("TMPDIR", temp)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	m := mutant{file: "sum.go", from: "{ <-c }", to: "{ for c != nil {} }", tests: []string{"."}}
	if err := try(ctx, root, []mutant{m, m, m}, 2, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); left != nil { // a tree, or a folder of the go command
		t.Error(left)
	}
	if left, _ := exec.Command("pgrep", "-fl", temp).Output(); len(left) > 0 {
		t.Errorf("tests still run: %s", left)
	}
}

func TestMutantsAreReadAsWritten(t *testing.T) {
	m, err := parse("a/b.go: P1: it holds\ntest ./a ./b -run X|Y -C c\n-one\n-\n+two\n\n")
	want := mutant{file: "a/b.go", breaks: "P1: it holds", run: "X|Y", module: "c", from: "one\n", to: "two"}
	if err != nil || m.file != want.file || m.breaks != want.breaks || m.run != want.run || m.module != want.module ||
		m.from != want.from || m.to != want.to || strings.Join(m.tests, " ") != "./a ./b" {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := parse("a/b/c.go: d\n-x\n"); err != nil || strings.Join(m.tests, " ") != "./a/b" {
		t.Errorf("%+v, %v", m, err)
	}
	for _, bad := range []string{"a.go\ntest .\n-x\n", "a.go: b\ntest .\n", "a.go: b\ntest .\n-x\nstray\n"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}
