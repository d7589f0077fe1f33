package check

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

// The wall clock of the process steps. Its monotonic clock and this process's clocks do not.
func TestWallClockOfAnotherProcessSteps(t *testing.T) {
	file := t.TempDir() + "/stepped"
	t.Setenv("STEPPED", file)
	p, err := proc.Start(t.Context(), "clock", nil)
	require.NoError(t, err)
	defer p.Kill()
	before := time.Now()
	for _, offset := range []time.Duration{-time.Minute, 2 * time.Hour, time.Hour} {
		require.NoError(t, stepClock(p.PID(), offset))
	}
	<-p.Ended()
	require.FileExists(t, file)
	after := time.Now()
	require.InDelta(t, after.Sub(before), after.Round(0).Sub(before.Round(0)), float64(time.Second))
	require.InDelta(t, trueTime(), now(), float64(time.Second))
}
