package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each of these tests starts a process, because a process reports each distinct leak once.

func TestLeakShowsTheCreatorAndTheEndedWorker(t *testing.T) {
	r := callAlone(t, "leak")
	require.Equal(t, 0, r.status, r.errOut)
	assert.Contains(t, r.out, "LEAK: hashedwheel.Timer.Stop() was not called")
	assert.Contains(t, r.out, "leaky.useAndDrop")
	assert.Regexp(t, `Goroutines: (\d+) before, \d+ with the timer's worker, \d+ after`, r.out)
	assert.NotContains(t, r.out, "Recent access records")
}

func TestLeakAtLevelAdvancedShowsRecentUse(t *testing.T) {
	r := callAlone(t, "leak", "--level", "ADVANCED")
	require.Equal(t, 0, r.status, r.errOut)
	assert.Contains(t, r.out, "Hint: NewTimeout")
}

func TestLeakFailsIfItsOutputDoes(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	r := callInto(t, full, "leak")
	assert.Equal(t, 1, r.status)
	assert.Contains(t, r.errOut, "hwtdemo: writing the output: ")
}

func TestLeakRejectsALevelWithoutReports(t *testing.T) {
	for _, level := range []string{"disabled", "loud"} {
		r := call("", "leak", "--level", level)
		assert.Equal(t, 2, r.status)
		assert.Contains(t, r.errOut, "must be simple, advanced or paranoid")
	}
}
