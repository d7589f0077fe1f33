package postgres

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

func newTestReturner(ctx context.Context) *returner {
	return newReturner(&session{ctx: ctx, options: Options{Options: durable.Options{Logger: slog.New(slog.DiscardHandler)}}}, nil)
}

// The bound of rejected outcomes includes those of a try under way.
func TestRejectedOutcomesAreBounded(t *testing.T) {
	r := newTestReturner(t.Context())
	refused := errors.New("no")
	generation := uint64(0)
	reject := func() error {
		generation++
		return r.keep(&finishing{worker: 1, rejected: []rejection{{backend.Outcome{Ref: backend.Ref{Key: "k", Generation: generation}}, refused}}})
	}
	for range maxRejected {
		require.NoError(t, reject())
	}
	require.ErrorIs(t, reject(), refused)
	r.again = time.Time{}
	f := &finishing{worker: 1, outcomes: r.toTry()[1], locked: make([]bool, maxRejected)}
	require.Len(t, f.outcomes, maxRejected)
	require.ErrorIs(t, reject(), refused, "during a try")
	f.rejected = []rejection{{f.outcomes[0], refused}}
	r.forget(f)
	require.Equal(t, map[holding]backend.Outcome{{1, f.outcomes[0].Ref}: f.outcomes[0]}, r.rejected)
	require.NoError(t, reject())
}

// The pause before the next try is as long after one that the database did not answer.
func TestFailedTryLeavesOutcomesRejected(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // finish fails
	r := newTestReturner(ctx)
	require.NoError(t, r.keep(&finishing{worker: 1, rejected: []rejection{{backend.Outcome{Ref: backend.Ref{Key: "k"}}, errors.New("no")}}}))
	r.again = time.Time{}
	require.True(t, r.tryOutcomes())
	require.Len(t, r.rejected, 1)
	require.Empty(t, r.outcomes)
	require.Equal(t, minRejectedPause, r.pause)
}

// Otherwise a rejected claim is tried 20 times per second, and logged.
func TestRowOfRejectedClaimIsReturnedLater(t *testing.T) {
	r := newTestReturner(t.Context()) // has no database
	r.giveBack(1, backend.Ref{Key: "k"}, time.Hour)
	require.True(t, r.tryRows())
}
