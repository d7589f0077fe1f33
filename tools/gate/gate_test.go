// Package gate_test tests the logic of .ci/run.
package gate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// steps are added to a copy of the gate.
const steps = `
step_good() { echo fine; }
step_bad() { echo '--- FAIL: TestBad'; false; echo unreachable; }
step_flaky() { [ -e tried ] || { touch tried; echo '--- FAIL: TestOnce'; false; }; }
step_reads() { if read -r line; then echo "got $line"; fi; }
step_skips() { skip 'the whole step'; }
step_scope() { echo "scope ${GATE_QUICK:-whole}"; }
step_format() { step_scope; }
QUICK=format
`

// run runs the named steps in a temporary folder.
func run(t *testing.T, names ...string) (out string, passed bool) {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("..", "..", ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	const seam = "known() {"
	if strings.Count(string(script), seam) != 1 {
		t.Fatal("the gate has no place for more steps")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".ci"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("# A library\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ".ci", "run")
	if err := os.WriteFile(path, []byte(strings.Replace(string(script), seam, steps+seam, 1)), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, names...)
	cmd.Stdin = strings.NewReader("input\n")
	text, err := cmd.CombinedOutput()
	return string(text), err == nil
}

func TestStepThatFailsOnceIsFlaky(t *testing.T) {
	out, passed := run(t, "flaky", "good")
	for _, want := range []string{"FLAKY: flaky ", "\n  --- FAIL: TestOnce\n", "== good: passed", "PASSED WITH FLAKY STEPS: flaky\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if !passed {
		t.Error("the gate failed")
	}
}

func TestStepThatKeepsFailingFailsTheGate(t *testing.T) {
	out, passed := run(t, "bad", "good")
	if passed || !strings.Contains(out, "FAILED: bad") || !strings.Contains(out, "== good: passed") ||
		strings.Count(out, "== bad\n") != 3 || strings.Contains(out, "FLAKY") || strings.Contains(out, "unreachable") {
		t.Errorf("passed: %v\n%s", passed, out)
	}
}

func TestStepsReadNoInputAndReportSkips(t *testing.T) {
	out, passed := run(t, "reads", "skips")
	if !passed || strings.Contains(out, "got ") || strings.Count(out, "SKIPPED: the whole step") != 2 {
		t.Errorf("passed: %v\n%s", passed, out)
	}
}

func TestUnknownStepsAreRejectedBeforeAnyRuns(t *testing.T) {
	for _, first := range []string{"good", "quick"} {
		out, passed := run(t, first, "fly")
		if passed || !strings.Contains(out, "no step 'fly'") || strings.Contains(out, "== ") {
			t.Errorf("passed: %v\n%s", passed, out)
		}
	}
}

func TestStepsNamedAfterQuickAreWhole(t *testing.T) {
	out, passed := run(t, "quick", "scope")
	if !passed || !strings.Contains(out, "\nscope 1\n== format: ") || !strings.Contains(out, "\nscope whole\n== scope: ") {
		t.Errorf("passed: %v\n%s", passed, out)
	}
}

func TestCoverageNamesAMissingClaim(t *testing.T) {
	out, passed := run(t, "coverage")
	if passed || !strings.Contains(out, ".ci/run: README.md does not say") || strings.Contains(out, "expected") {
		t.Errorf("passed: %v\n%s", passed, out)
	}
}

// filesOf lists the root module's files, tests included, on platforms such as js/wasm.
func filesOf(t *testing.T, platforms ...string) map[string]bool {
	t.Helper()
	files := make(map[string]bool)
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "list", "-f", `{{range .GoFiles}}{{$.Dir}}/{{.}}
{{end}}{{range .TestGoFiles}}{{$.Dir}}/{{.}}
{{end}}{{range .XTestGoFiles}}{{$.Dir}}/{{.}}
{{end}}`, "./...")
		cmd.Dir = filepath.Join("..", "..")
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(platform, err)
		}
		for file := range strings.FieldsSeq(string(out)) {
			files[file] = true
		}
	}
	return files
}

// Step vet only builds for some platforms: their files are vetted on others.
func TestFilesOfBuiltPlatformsAreVetted(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("..", "..", ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	platforms := func(name string) []string {
		_, rest, _ := strings.Cut(string(script), "\n"+name+"='")
		list, _, _ := strings.Cut(rest, "'")
		if list == "" {
			t.Fatal("the gate has no", name)
		}
		return strings.Fields(list)
	}
	vetted := filesOf(t, append(platforms("VETTED"), "linux/amd64")...)
	for file := range filesOf(t, platforms("BUILT")...) {
		if !vetted[file] {
			t.Errorf("%s is on no platform that step vet vets", file)
		}
	}
}
