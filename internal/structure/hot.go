package structure

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashedwheel/hwt/internal/enginetest"
)

// hotMain surrounds the body of a program for HotFiles.
const hotMain = `package main

import (
	"os"
	"runtime/coverage"
	"time"
	IMPORTS
)

func main() {
	BODY
	check(coverage.WriteCountersDir(os.Getenv("GOCOVERDIR")))
	os.Exit(0)
}

func clear() {
	time.Sleep(300 * time.Millisecond) // until the goroutines sleep
	check(coverage.ClearCounters())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

// HotFiles returns the files of this project in which a program runs code after a call of clear.
// imports and body are the program's source; body also may call check(err). The program is built in
// the module of the working directory. On a busy machine, the goroutines may be late, which runs
// more code: of up to five runs, the one with the fewest files counts. HotFiles stops at a run with
// at most enough files.
func HotFiles(t *testing.T, enough int, imports, body string) (hot []string) {
	if enginetest.Effort(1, 0, 0) == 0 {
		t.Skip("builds a program with coverage counters")
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	text := strings.NewReplacer("IMPORTS", imports, "BODY", body).Replace(hotMain)
	must(t, os.WriteFile(source, []byte(text), 0o600))
	run(t, nil, "go", "build", "-cover", "-covermode=atomic", "-coverpkg=github.com/hashedwheel/hwt/...,command-line-arguments", "-o", program, source)
	for i := 0; i < 5 && (hot == nil || len(hot) > enough); i++ {
		if files := hotFiles(t, program); hot == nil || len(files) < len(hot) {
			hot = files
		}
	}
	t.Logf("%d files:\n%s", len(hot), strings.Join(hot, "\n"))
	return hot
}

// hotFiles runs the program and returns the files with code that has run.
func hotFiles(t *testing.T, program string) (files []string) {
	counters, profile := t.TempDir(), filepath.Join(t.TempDir(), "profile")
	run(t, []string{"GOCOVERDIR=" + counters}, program)
	run(t, nil, "go", "tool", "covdata", "textfmt", "-i", counters, "-o", profile)
	text, err := os.ReadFile(profile)
	must(t, err)
	for _, m := range regexp.MustCompile(`(?m)^github\.com/hashedwheel/hwt/(.*\.go):.* [1-9]\d*$`).FindAllStringSubmatch(string(text), -1) {
		files = append(files, m[1])
	}
	slices.Sort(files)
	return slices.Compact(files)
}

func run(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
}
