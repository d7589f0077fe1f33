// Package etcdlease_test compares etcd's lessor with a copy of it on hashedwheel.
package etcdlease_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The lessors, and the folders in which an overlay puts them.
const (
	etcd  = "./testdata/etcd"
	wheel = "./testdata/wheel"
)

// overlay writes an overlay that has etcd's package lease in both folders, patched in
// wheel, and returns its name.
func overlay(tb testing.TB) string {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "go.etcd.io/etcd/server/v3/lease").Output()
	require.NoError(tb, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*.go"))
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	files = append(files, "testdata/etcd/measure_test.go.txt")

	temp := tb.TempDir()
	replace := map[string]string{}
	for _, lessor := range []string{etcd, wheel} {
		target, err := filepath.Abs(lessor)
		require.NoError(tb, err)
		copied := filepath.Join(temp, filepath.Base(lessor))
		require.NoError(tb, os.Mkdir(copied, 0o700))
		if lessor == wheel {
			files = append(files, "testdata/wheel/expiries.go.txt")
		}
		for _, file := range files {
			base := strings.TrimSuffix(filepath.Base(file), ".txt")
			text, err := os.ReadFile(file)
			require.NoError(tb, err)
			require.NoError(tb, os.WriteFile(filepath.Join(copied, base), text, 0o600))
			replace[filepath.Join(target, base)] = filepath.Join(copied, base)
		}
		if lessor == wheel {
			apply(tb, copied, "testdata/wheel/lessor.diff")
			delete(replace, filepath.Join(target, "lease_queue_test.go")) // tests a heap that the patch does not use
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(tb, err)
	name := filepath.Join(temp, "overlay.json")
	require.NoError(tb, os.WriteFile(name, text, 0o600))
	return name
}

// apply applies a patch to the files in dir.
func apply(tb testing.TB, dir, patch string) {
	diff, err := os.Open(patch)
	require.NoError(tb, err)
	defer diff.Close()
	git := exec.Command("git", "apply", "-")
	git.Dir = dir
	git.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	git.Stdin = diff
	out, err := git.CombinedOutput()
	require.NoError(tb, err, "%s", out)
}

// compile compiles the tests of lessor and returns the name of the program.
func compile(tb testing.TB, overlay, lessor string) string {
	program := filepath.Join(tb.TempDir(), "lease.test")
	out, err := exec.Command("go", "test", "-overlay", overlay, "-c", "-o", program, lessor).CombinedOutput()
	require.NoError(tb, err, "%s", out)
	return program
}

// measure runs a test of measure_test.go.txt, and returns its results.
func measure(tb testing.TB, program, test string, env ...string) map[string]float64 {
	run := exec.Command(program, "-test.run", "^"+test+"$")
	run.Env = append(os.Environ(), env...)
	out, err := run.CombinedOutput()
	require.NoError(tb, err, "%s", out)
	results := map[string]float64{}
	for line := range strings.Lines(string(out)) {
		var name string
		var value float64
		if n, _ := fmt.Sscanf(line, "measured %s %g", &name, &value); n == 2 {
			results[name] = value
		}
	}
	return results
}

func TestPatchFits(t *testing.T) { overlay(t) }

// TestEtcdsTests runs etcd's own tests of the lessor against the patched one.
func TestEtcdsTests(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a package of etcd")
	}
	out, err := exec.Command("go", "test", "-overlay", overlay(t), "-count=1", "-v", "-run", "^TestOnFakeTime$|AfterRestart", wheel).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.True(t, strings.Contains(string(out), "--- PASS: TestOnFakeTime/ExpireAndDemote"))
	assert.True(t, strings.Contains(string(out), "--- PASS: TestLessorCheckpointPersistenceAfterRestart"))
}

// TestLateness compares the lateness of leases in milliseconds. If more leases end than
// etcd revokes per second, that rate decides.
func TestLateness(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a package of etcd")
	}
	overlay := overlay(t)
	theirs := measure(t, compile(t, overlay, etcd), "TestLateness")
	ours := measure(t, compile(t, overlay, wheel), "TestLateness")
	t.Log("etcd", theirs, "wheel", ours)
	assert.InDelta(t, 250, theirs["spread-p50"], 25)
	assert.Greater(t, theirs["spread-max"], 450.0)
	assert.LessOrEqual(t, ours["spread-max"], 10.0)
	for _, rate := range []map[string]float64{theirs, ours} {
		assert.InDelta(t, 2750, rate["together-max"], 250)
	}
}

// BenchmarkLessor reports medians of five rounds in which the lessors take turns.
func BenchmarkLessor(b *testing.B) {
	overlay := overlay(b)
	programs := []string{compile(b, overlay, wheel), compile(b, overlay, etcd)}
	for _, leases := range []string{"100000", "1000000"} {
		b.Run("leases="+leases, func(b *testing.B) {
			for range b.N {
				rounds := map[string][2][]float64{}
				for range 5 {
					for side, program := range programs {
						for name, value := range measure(b, program, "TestCosts", "LEASES="+leases) {
							both := rounds[name]
							both[side] = append(both[side], value)
							rounds[name] = both
						}
					}
				}
				for name, both := range rounds {
					slices.Sort(both[0])
					slices.Sort(both[1])
					b.ReportMetric(both[0][2], "ours-"+name)
					b.ReportMetric(both[1][2], "etcd-"+name)
					b.ReportMetric(both[0][2]/both[1][2], "ratio-"+name)
				}
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
