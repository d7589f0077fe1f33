package durable_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

func TestEntryFiresOnceAtItsDueTime(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.setIn("later", time.Hour)
		f.setIn("near", 300*time.Millisecond)
		defer f.work(nil, nil)()
		f.setIn("overdue", -time.Hour)
		time.Sleep(20 * time.Second)
		f.setIn("announced", 500*time.Millisecond)
		time.Sleep(2 * time.Hour)
		assert.Equal(t, seconds(0, 0.3, 20.5, 3600), f.times())
		assert.Empty(t, f.keys())
		assert.Equal(t, []byte("near"), f.fired[1].Payload)
		assert.Zero(t, f.stats().Claimed)
		assert.EqualValues(t, 4, f.stats().Succeeded)
	})
}

func TestHandlersContextHasTheValuesOfWorks(t *testing.T) {
	inBubble(t, func(f *fixture) {
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(f.t.Context(), key{}, "value"))
		f.setIn("k", 0)
		var value any
		err := f.Work(ctx, func(ctx context.Context, _ durable.Firing) error {
			cancel()
			time.Sleep(time.Second)
			value = ctx.Value(key{})
			return ctx.Err()
		}, nil)
		require.NoError(t, err)
		assert.Equal(t, "value", value)
		assert.Empty(t, f.keys())
	})
}

func TestBurstFiresInOrderWithinMaxHeld(t *testing.T) {
	inBubble(t, func(f *fixture) {
		const n = 5000
		due := time.Now().Add(time.Minute)
		stored, err := f.SetMany(f.t.Context(), func(yield func(durable.Entry) bool) {
			for i := range n {
				if !yield(durable.Entry{Key: string(rune('a'+i%20)) + time.Duration(i).String(), Due: due.Add(time.Duration(i) * 100 * time.Microsecond)}) {
					return
				}
			}
		})
		require.NoError(t, err)
		require.Equal(t, n, stored)
		defer f.work(nil, &durable.WorkOptions{MaxHeld: 300, Concurrency: 1})()
		time.Sleep(2 * time.Minute)
		require.Len(t, f.times(), n)
		for i := 1; i < n; i++ {
			require.Less(t, f.fired[i-1].Due.Sub(f.fired[i].Due), 10*time.Millisecond)
		}
	})
}

func TestCancelAndMoveWinUntilTheClaim(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(nil, nil)()
		ctx := f.t.Context()
		f.setIn("cancelled", 10*time.Second)
		first := f.setIn("moved", 10*time.Second)
		f.setIn("claimed", 10*time.Second)
		time.Sleep(9800 * time.Millisecond)
		_, err := f.Cancel(ctx, "cancelled")
		require.NoError(t, err)
		moved, err := f.Move(ctx, "moved", time.Now().Add(time.Minute))
		require.NoError(t, err)
		assert.Greater(t, moved.Generation, first.Generation)
		time.Sleep(180 * time.Millisecond)
		_, err = f.Cancel(ctx, "claimed")
		assert.ErrorIs(t, err, durable.ErrFired)
		_, err = f.Move(ctx, "claimed", time.Now())
		assert.ErrorIs(t, err, durable.ErrFired)
		_, err = f.Get(ctx, "claimed")
		assert.ErrorIs(t, err, durable.ErrFired)
		time.Sleep(5 * time.Minute)
		assert.Equal(t, seconds(10, 69.8), f.times())
		_, err = f.Cancel(ctx, "cancelled")
		assert.ErrorIs(t, err, durable.ErrNotFound)
	})
}

func TestSetOverAClaimedEntryLosesNeither(t *testing.T) {
	inBubble(t, func(f *fixture) {
		release := make(chan struct{})
		end := f.work(func(_ context.Context, firing durable.Firing) error {
			if firing.Attempt == 1 && len(f.times()) == 1 {
				<-release
				return errors.New("again")
			}
			return nil
		}, nil)
		defer end()
		first := f.setIn("k", time.Second)
		time.Sleep(2 * time.Second)
		second := f.setIn("k", time.Hour)
		close(release)
		time.Sleep(2 * time.Hour)
		require.Len(t, f.times(), 3)
		assert.Equal(t, first.Due, f.fired[0].Due)
		assert.Equal(t, f.fired[0].ID, f.fired[1].ID)
		assert.Equal(t, 2, f.fired[1].Attempt)
		assert.Equal(t, second.Generation, f.fired[2].Generation)
		assert.NotEqual(t, f.fired[0].ID, f.fired[2].ID)
	})
}

func TestReturnedEntrySharesNoMemoryWithHandler(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(nil, nil)()
		e := f.setIn("set", time.Second)
		e.Payload[0] = 'X'
		f.setIn("moved", time.Hour)
		e, err := f.Move(f.t.Context(), "moved", time.Now().Add(time.Second))
		require.NoError(t, err)
		e.Payload[0] = 'X'
		time.Sleep(2 * time.Second)
		require.Len(t, f.times(), 2)
		for _, firing := range f.fired {
			assert.Equal(t, firing.Key, string(firing.Payload))
		}
	})
}

func TestFailedAttemptsRepeatWithTheSameID(t *testing.T) {
	inBubble(t, func(f *fixture) {
		outcomes := []func() error{
			func() error { return errors.New("failed") },
			func() error { panic("failed") },
			func() error { return durable.RetryAfter(time.Hour) },
		}
		defer f.work(func(_ context.Context, firing durable.Firing) error {
			if firing.Attempt <= len(outcomes) {
				return outcomes[firing.Attempt-1]()
			}
			return nil
		}, nil)()
		f.setIn("k", time.Second)
		time.Sleep(2 * time.Hour)
		require.Len(t, f.times(), 4)
		for i := 1; i < 4; i++ {
			assert.Equal(t, f.fired[0].ID, f.fired[i].ID)
			assert.Greater(t, f.fired[i].Generation, f.fired[i-1].Generation)
			assert.Equal(t, i+1, f.fired[i].Attempt)
		}
		assert.Less(t, f.at[2], 10*time.Second)
		assert.GreaterOrEqual(t, f.at[3]-f.at[2], time.Hour)
	})
}

func TestDeadLetterCanBeRequeued(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(func(_ context.Context, firing durable.Firing) error {
			if len(f.times()) <= 3 {
				return errors.New("failed")
			}
			return durable.GiveUp(errors.New("\"hopeless\": " + strings.Repeat("ä", 600)))
		}, &durable.WorkOptions{MaxAttempts: 3, MaxBackoff: time.Second})()
		f.setIn("k", time.Second)
		time.Sleep(time.Minute)
		dead := f.dead()
		require.Len(t, dead, 1)
		assert.Equal(t, "failed", dead[0].Error)
		assert.Equal(t, 3, dead[0].Attempt)
		_, err := f.Requeue(f.t.Context(), "k", dead[0].Generation)
		require.NoError(t, err)
		_, err = f.Requeue(f.t.Context(), "k", dead[0].Generation)
		require.ErrorIs(t, err, durable.ErrNotFound)
		time.Sleep(time.Minute)
		require.Len(t, f.times(), 4)
		assert.Equal(t, f.fired[0].ID, f.fired[3].ID)
		assert.Equal(t, 1, f.fired[3].Attempt)
		dead = f.dead()
		require.Len(t, dead, 1)
		assert.Contains(t, dead[0].Error, `"hopeless": ä`)
		assert.True(t, utf8.ValidString(dead[0].Error))
		assert.InDelta(t, 1024, len(dead[0].Error), 1)
		require.NoError(t, f.Discard(f.t.Context(), "k", dead[0].Generation))
		assert.Empty(t, f.dead())
		err = f.Discard(f.t.Context(), "k", dead[0].Generation)
		assert.ErrorIs(t, err, durable.ErrNotFound)
		assert.ErrorContains(t, err, "dead letter")
	})
}

func TestEntryDoesNotFireAfterNotAfter(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.setIn("late", time.Second, notAfter(time.Now().Add(2*time.Second)))
		f.setIn("in time", time.Second, notAfter(time.Now().Add(time.Hour)))
		time.Sleep(time.Minute)
		defer f.work(nil, nil)()
		time.Sleep(time.Minute)
		require.Len(t, f.times(), 1)
		assert.Equal(t, "in time", f.fired[0].Key)
		dead := f.dead()
		require.Len(t, dead, 1)
		assert.Equal(t, "late", dead[0].Key)
		assert.Contains(t, dead[0].Error, "NotAfter")
	})
}

// broken is an error whose methods panic.
type broken struct{ cause error }

func (b *broken) Error() string { return b.cause.Error() }
func (b *broken) Unwrap() error { return b.cause }

func TestErrorThatPanicsCountsAsAPanic(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(func(_ context.Context, firing durable.Firing) error {
			if firing.Attempt == 1 {
				return (*broken)(nil)
			}
			return nil
		}, nil)()
		f.setIn("k", time.Second)
		time.Sleep(time.Minute)
		assert.Len(t, f.times(), 2)
		assert.Empty(t, f.keys())
	})
}

// The claimed entry fires, so Cancel must not report that it never does.
func TestCancelOfAClaimedEntryKeepsTheRetriesOfEarlierOnes(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(func(ctx context.Context, firing durable.Firing) error {
			switch len(f.times()) {
			case 1:
				f.setIn("k", time.Second)
				return durable.RetryAfter(time.Minute)
			case 2:
				_, err := f.Cancel(ctx, "k")
				assert.ErrorIs(t, err, durable.ErrFired)
			}
			return nil
		}, nil)()
		f.setIn("k", time.Second)
		time.Sleep(time.Hour)
		require.Len(t, f.times(), 3)
		assert.Equal(t, f.fired[0].ID, f.fired[2].ID)
	})
}

// mute never answers.
type mute struct{ *memdb.DB }

func (mute) Now(ctx context.Context) (time.Time, error) {
	<-ctx.Done()
	return time.Time{}, ctx.Err()
}

func TestNewEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := durable.New(ctx, mute{memdb.New()}, nil)
	assert.ErrorIs(t, err, context.Canceled)
}
