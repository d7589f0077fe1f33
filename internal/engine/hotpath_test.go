package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/enginetest"
)

// maxHotFiles bounds the files that a reader of the hot path must open.
const maxHotFiles = 16

// hotProgram schedules one function that runs and one that is cancelled. Only the code that
// runs in between is counted: not New, Start, or the worker's first sleep.
const hotProgram = `package main

import (
	"os"
	"runtime/coverage"
	"time"

	"github.com/hashedwheel/hwt/hashedwheel"
)

func main() {
	timer, err := hashedwheel.New(nil)
	check(err)
	timer.Start()
	time.Sleep(300 * time.Millisecond) // until the worker sleeps
	check(coverage.ClearCounters())
	ran := make(chan struct{})
	_, err = timer.AfterFunc(50*time.Millisecond, func() { close(ran) })
	check(err)
	<-ran
	timeout, err := timer.AfterFunc(time.Hour, func() {})
	check(err)
	timeout.Cancel()
	time.Sleep(300 * time.Millisecond) // until the worker sleeps
	check(coverage.WriteCountersDir(os.Getenv("GOCOVERDIR")))
	os.Exit(0)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

// The real clock, because the program is another process. On a busy machine, the worker may be
// late, which runs more code, so the least of several runs counts.
func TestTheHotPathIsInFewFiles(t *testing.T) {
	if enginetest.Effort(1, 0, 0) == 0 {
		t.Skip("builds the library with coverage counters")
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(source, []byte(hotProgram), 0o600))
	run(t, nil, "go", "build", "-C", "../..", "-cover", "-covermode=atomic", "-coverpkg=github.com/hashedwheel/hwt/...,command-line-arguments", "-o", program, source)
	var hot []string
	for i := 0; i < 5 && (hot == nil || len(hot) > maxHotFiles); i++ {
		if files := hotFiles(t, program); hot == nil || len(files) < len(hot) {
			hot = files
		}
	}
	t.Logf("%d files:\n%s", len(hot), strings.Join(hot, "\n"))
	assert.LessOrEqual(t, len(hot), maxHotFiles)
	assert.Contains(t, hot, "internal/engine/timeout.go", "the counters work")
}

// hotFiles runs the program and returns the files with code that has run.
func hotFiles(t *testing.T, program string) []string {
	counters, profile := t.TempDir(), filepath.Join(t.TempDir(), "profile")
	run(t, []string{"GOCOVERDIR=" + counters}, program)
	run(t, nil, "go", "tool", "covdata", "textfmt", "-i", counters, "-o", profile)
	text, err := os.ReadFile(profile)
	require.NoError(t, err)
	var files []string
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
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
