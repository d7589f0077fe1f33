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
step_marks() { touch marked; }
step_waits() { for _ in $(seq 100); do [ ! -e marked ] || { echo "saw the mark at priority $(chrt -p $BASHPID 2> /dev/null | grep -o SCHED_IDLE || nice)"; return; }; sleep 0.1; done; false; }
step_scope() { echo "scope ${GATE_QUICK:-whole}"; }
step_format() { step_scope; }
QUICK=format
BESIDE='waits flaky'
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

// A branch changed durable, and a file of tools is not committed yet.
func TestQuickGateTakesTheTouchedModules(t *testing.T) {
	files := make(map[string]string)
	for _, module := range []string{"", "bench/", "durable/", "durable/sqlite/", "durabler/", "tools/"} {
		files[module+"go.mod"] = "module x\n"
	}
	dir, git := repository(t, files)
	git("checkout", "-q", "-b", "change")
	write(t, dir, map[string]string{"durable/a.go": ""})
	git("add", "-A")
	git("commit", "-q", "-m", "second")
	write(t, dir, map[string]string{"tools/new.go": ""})
	functions, _, found := strings.Cut(read(t, "run"), "\nnested() {")
	if !found {
		t.Fatal("the gate has no function nested")
	}
	cmd := exec.Command("bash", "-c", strings.Replace(functions, `cd "$(dirname "$0")/.."`, "", 1)+"\nmodules; touched direct")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GATE_QUICK=1")
	out, err := cmd.CombinedOutput()
	if want := ".\ndurable\ndurable/sqlite\ntools\n" + ".\ndurable\ntools\n"; string(out) != want || err != nil {
		t.Errorf("got %q, %v; want %q", out, err, want)
	}
}

// repository returns a folder with the named files, one commit, and a function that runs git.
func repository(t *testing.T, files map[string]string) (dir string, git func(args ...string)) {
	dir = t.TempDir()
	git = func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write(t, dir, files)
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-q", "-m", "first")
	return dir, git
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", ".ci", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPublishedNeedsEveryModuleAndASection(t *testing.T) {
	const changes = "# Changelog\n\n## [Unreleased]\n\nnew\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- two\n\n## [0.1.0] - 2026-11-01\n\none\n"
	dir, git := repository(t, map[string]string{".ci/published": read(t, "published"), "go.mod": "module example.org/m\n", "CHANGELOG.md": changes})
	proxy, cache := t.TempDir(), t.TempDir()
	published := func(version string) (string, bool) {
		cmd := exec.Command(filepath.Join(dir, ".ci", "published"), version)
		cmd.Env = append(os.Environ(), "TRIES=1", "GOPROXY=file://"+proxy, "GOMODCACHE="+cache, "GONOSUMDB=*", "GOFLAGS=-mod=mod")
		out, err := cmd.Output()
		return string(out), err == nil
	}
	publish := func(module string) {
		write(t, filepath.Join(proxy, module, "@v"), map[string]string{
			"v0.2.0.info": `{"Version":"v0.2.0"}`, "v0.2.0.mod": "module " + module + "\n", "list": "v0.2.0\n"})
	}
	if _, ok := published("v0.2.0"); ok {
		t.Error("there is no tag")
	}
	git("tag", "v0.2.0")
	git("tag", "sub/v0.2.0")
	publish("example.org/m")
	if _, ok := published("v0.2.0"); ok {
		t.Error("the proxy has only one of two modules")
	}
	publish("example.org/m/sub")
	if out, ok := published("v0.2.0"); !ok || strings.TrimSpace(out) != "### Added\n\n- two" {
		t.Errorf("%q, %v", out, ok)
	}
	git("tag", "v0.3.0")
	if _, ok := published("v0.3.0"); ok {
		t.Error("the changelog has no section")
	}
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

func TestStepOfBesideRunsWhileOthersDo(t *testing.T) {
	out, passed := run(t, "waits", "bad", "marks")
	idle := strings.Count(out, "saw the mark at priority SCHED_IDLE") + strings.Count(out, "saw the mark at priority 19")
	if passed || idle != 1 || !strings.Contains(out, "FAILED: bad\n") ||
		strings.Index(out, "== marks: passed") > strings.Index(out, "== waits: passed") {
		t.Errorf("passed: %v\n%s", passed, out)
	}
}

func TestStepOfBesideRunsAloneByItself(t *testing.T) {
	out, passed := run(t, "flaky")
	if !passed || !strings.Contains(out, "PASSED WITH FLAKY STEPS: flaky\n") {
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
