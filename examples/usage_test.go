// Package examples_test runs the programs as a user who mistypes.
package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWrongUsageEndsWithAReason(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs")
	}
	bin := t.TempDir()
	mains, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	lines := map[string]string{ // by command line, a part of the output
		"tenants -orders -1": "-orders: -1 (expected: at least 0)",
		"checks -within -1s": "-within: -1s",
		"sessions -idle -1s": "-1s",
		"sessions -age -1s":  "-1s",
	}
	for _, main := range mains {
		name := filepath.Dir(main)
		out, err := exec.Command("go", "build", "-o", bin+"/", "./"+name).CombinedOutput()
		require.NoError(t, err, "%s", out)
		lines[name+" -nope"] = "flag provided but not defined: -nope"
		lines[name+" -help"] = "Usage of "
		lines[name+" fly"] = "unexpected argument: fly"
		if name == "webhooks" { // has no flags
			delete(lines, name+" -help")
			lines[name+" -nope"], lines[name+" fly"] = "usage: webhooks URL", "usage: webhooks URL"
			lines[name+" http://localhost:1 extra"] = "usage: webhooks URL"
		}
	}
	for line, want := range lines {
		t.Run(line, func(t *testing.T) {
			words := strings.Fields(line)
			command := exec.CommandContext(t.Context(), filepath.Join(bin, words[0]), words[1:]...)
			command.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
			out, err := command.CombinedOutput()
			assert.Contains(t, string(out), want)
			assert.Equal(t, words[len(words)-1] == "-help", err == nil, "the exit status")
		})
	}
}
