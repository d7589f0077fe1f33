package kubequeue_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// foreign is the folder in which the overlay puts client-go's package, with its
// delaying queue replaced.
const foreign = "testdata"

// overlay writes an overlay that has the files of client-go's package in the folder
// foreign, and returns its name.
func overlay(t *testing.T) string {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "k8s.io/client-go/util/workqueue").Output()
	require.NoError(t, err)
	dir := strings.TrimSpace(string(out))
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	here, err := os.Getwd()
	require.NoError(t, err)
	replace := map[string]string{}
	for _, file := range files {
		switch base := filepath.Base(file); base {
		case "delaying_queue.go":
			replace[filepath.Join(here, foreign, base)] = renamed(t, file)
		case "metrics_test.go", "rate_limiting_queue_test.go": // use the fields of client-go's own queue
		default:
			replace[filepath.Join(here, foreign, base)] = file
		}
	}
	replace[filepath.Join(here, foreign, "keyed.go")] = filepath.Join(here, foreign, "keyed.go.txt")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(name, text, 0o600))
	return name
}

// renamed returns a copy of client-go's file, in which its queue has another name.
func renamed(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	changed := strings.NewReplacer(
		"func newDelayingQueue[", "func originalDelayingQueue[",
		"delayingType[", "originalDelayingType[",
	).Replace(string(text))
	name := filepath.Join(t.TempDir(), "delaying_queue.go")
	require.NoError(t, os.WriteFile(name, []byte(changed), 0o600))
	return name
}

// TestClientGosTests runs client-go's own tests of the delaying queue, with its fake
// clock, against Queue.
func TestClientGosTests(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a package of client-go")
	}
	tests := []string{"TestSimpleQueue", "TestDeduping", "TestAddTwoFireEarly", "TestCopyShifting"}
	out, err := exec.Command("go", "test", "-overlay", overlay(t), "-count=1", "-v",
		"-run", "^("+strings.Join(tests, "|")+")$", "./"+foreign).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, test := range tests {
		assert.Contains(t, string(out), "--- PASS: "+test)
	}
}
