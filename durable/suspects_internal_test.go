package durable

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
)

// tableWithRow returns a table, and the row in it.
func tableWithRow(t *testing.T) (*flights, []*flight) {
	t.Helper()
	f := newTable(kinds{"": {options: WorkOptions{MaxHeld: 1}}})
	h, answer := f.add(backend.Row{Key: "k"}, 1, false)
	require.Equal(t, added, answer)
	return f, []*flight{h}
}

// The time of the second bubble is a minute behind that of the first.
func TestTrialOfAnotherBubbleDelaysNoOther(t *testing.T) {
	var shared trial
	for _, ahead := range []time.Duration{time.Minute, 0} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(ahead)
			of, rows := tableWithRow(t)
			require.True(t, shared.begin(of, rows), ahead)
			require.False(t, shared.begin(of, rows), "a trial is under way")
		})
	}
}

func TestTrialEndsWithItsWork(t *testing.T) {
	w, other := newTestWorker(t), newTestWorker(t)
	require.True(t, tried.begin(w.flights, []*flight{{}}))
	ended, end := context.WithCancel(t.Context())
	end()
	other.run(ended)
	require.Equal(t, w.flights, tried.of)
	w.run(ended)
	require.Nil(t, tried.of)
	require.Empty(t, tried.rows)
}
