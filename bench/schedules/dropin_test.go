package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// overlay writes an overlay that puts the test files of robfig/cron, which stay in the
// module cache, into package dropin/cron, in place of that package's own. It returns its
// name.
func overlay(t *testing.T, root string) string {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/robfig/cron/v3").Output()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*_test.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	dir := filepath.Join(root, "dropin", "cron")
	replace := map[string]string{}
	own, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, file := range own {
		replace[file] = "" // It does not exist.
	}
	for _, file := range files {
		replace[filepath.Join(dir, "robfig_"+filepath.Base(file))] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(name, text, 0o600))
	return name
}

// faults are the failures of TestNext, which expects robfig/cron's times at changes of the
// clocks: it skips a run in a gap, and runs twice at a repeated time.
var faults = []string{
	`"0 30 2 11 Mar ?"`, `"TZ=America/New_York 0 30 2 11 Mar ?"`, `"0 0 2 * * ?"`, `"TZ=America/New_York 0 0 2 * * ?"`,
	`"0 30 1 04 Nov ?"`, `"TZ=America/New_York 0 30 1 04 Nov ?"`, `"0 0 1 * * ?"`, `"TZ=America/New_York 0 0 1 * * ?"`,
}

// TestRobfigsTestsPassOnDropinCron runs robfig/cron's own tests on package dropin/cron.
func TestRobfigsTestsPassOnDropinCron(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute of real time")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	cmd := exec.Command("go", "test", "-overlay", overlay(t, root), "-count=1", "-v", "./dropin/cron")
	cmd.Dir = root
	out, _ := cmd.CombinedOutput()
	failed := regexp.MustCompile(`(?m)^--- FAIL: (\S+)`).FindAllStringSubmatch(string(out), -1)
	require.Len(t, failed, 1, "%s", out)
	assert.Equal(t, "TestNext", failed[0][1])
	assert.GreaterOrEqual(t, strings.Count(string(out), "\n--- PASS: "), 45)
	for _, failure := range regexp.MustCompile(`spec_test.go:\d+: \S+, (".*?"): `).FindAllStringSubmatch(string(out), -1) {
		assert.True(t, slices.Contains(faults, failure[1]), failure[0])
	}
}
