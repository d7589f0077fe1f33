package durable_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

func TestDrainLeavesUnclaimedEntriesToOthers(t *testing.T) {
	inBubble(t, func(f *fixture) {
		entered := make(chan struct{})
		end := f.work(func(ctx context.Context, firing durable.Firing) error {
			close(entered)
			time.Sleep(5 * time.Second)
			return ctx.Err()
		}, &durable.WorkOptions{Concurrency: 1})
		f.setIn("running", time.Second)
		f.setIn("unclaimed", 1900*time.Millisecond)
		<-entered
		second := f.work(nil, nil)
		defer second()
		end()
		assert.Equal(t, 6*time.Second, time.Since(f.start).Truncate(time.Second))
		require.Len(t, f.times(), 2)
		assert.Equal(t, seconds(1, 1.9), f.times())
		assert.Empty(t, f.keys())
	})
}

// The freed entry is behind the watermark of the other Work, whose next sweep is at 5 s.
func TestDrainFreesLeasedEntries(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.b.leased = make(map[backend.Ref]bool)
		f.setIn("running", 100*time.Millisecond)
		f.setIn("leased", 900*time.Millisecond)
		end := f.work(func(context.Context, durable.Firing) error {
			time.Sleep(10 * time.Second)
			return nil
		}, nil)
		time.Sleep(10 * time.Millisecond)
		later := backend.Row{Key: "moves the watermark", Due: time.Now().Add(940 * time.Millisecond).UnixNano()}
		_, err := f.b.Apply(f.t.Context(), []backend.Op{{Row: later}})
		require.NoError(t, err)
		defer f.work(nil, nil)()
		time.Sleep(390 * time.Millisecond)
		end()
		assert.Equal(t, seconds(0.1, 0.9, 0.95), f.times())
	})
}

// Docker kills a process ten seconds after it has asked it to end.
func TestDefaultDrainEndsBeforeDockerKills(t *testing.T) {
	inBubble(t, func(f *fixture) {
		end := f.work(func(ctx context.Context, _ durable.Firing) error {
			<-ctx.Done()
			return ctx.Err()
		}, nil)
		f.setIn("running", time.Second)
		time.Sleep(2 * time.Second)
		asked := time.Now()
		end()
		require.Less(t, time.Since(asked), 9*time.Second)
	})
}

func TestDrainTimeoutEndsHandlersAndTheirLeases(t *testing.T) {
	inBubble(t, func(f *fixture) {
		end := f.work(func(ctx context.Context, firing durable.Firing) error {
			<-ctx.Done()
			return ctx.Err()
		}, &durable.WorkOptions{Concurrency: 1, DrainTimeout: 3 * time.Second, BaseBackoff: time.Hour})
		f.setIn("running", time.Second)
		f.setIn("queued", time.Second+time.Millisecond)
		time.Sleep(2 * time.Second)
		end()
		assert.Equal(t, 5*time.Second, time.Since(f.start).Truncate(time.Second))
		require.Len(t, f.times(), 1)
		assert.Equal(t, []string{"queued", "running"}, f.keys())
		e, err := f.Get(f.t.Context(), "queued")
		require.NoError(t, err)
		assert.Equal(t, 1, e.Attempt)
	})
}

// The deployment of a service has not made its handlers fail.
func TestInterruptedAttemptDoesNotCount(t *testing.T) {
	for name, c := range map[string]struct {
		options durable.WorkOptions
		err     error // in place of the context's
		dead    int
	}{
		"last attempt": {durable.WorkOptions{MaxAttempts: 1}, nil, 0},
		"long backoff": {durable.WorkOptions{BaseBackoff: time.Hour}, nil, 0},
		"retry after":  {durable.WorkOptions{MaxAttempts: 1}, durable.RetryAfter(time.Hour), 0},
		"give up":      {durable.WorkOptions{}, durable.GiveUp(errors.New("no")), 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				c.options.DrainTimeout = time.Second
				end := f.work(func(ctx context.Context, _ durable.Firing) error {
					<-ctx.Done()
					return cmp.Or(c.err, fmt.Errorf("charge card: %w", ctx.Err()))
				}, &c.options)
				due := f.setIn("k", time.Second).Due
				time.Sleep(2 * time.Second)
				end()
				require.Len(t, f.dead(), c.dead)
				if c.dead > 0 {
					return
				}
				e, err := f.Get(f.t.Context(), "k")
				require.NoError(t, err)
				assert.Equal(t, 1, e.Attempt)
				assert.Equal(t, due, e.Due)
				assert.Positive(t, f.b.announced, "other processes look for it")
				defer f.work(nil, nil)()
				time.Sleep(time.Second)
				require.Len(t, f.times(), 2)
				assert.Equal(t, f.fired[0].ID, f.fired[1].ID)
			})
		})
	}
}

// The handler returns while rows are freed, and the queue holds another one.
func TestNoHandlerStartsAfterDrainTimeout(t *testing.T) {
	inBubble(t, func(f *fixture) {
		end := f.work(func(ctx context.Context, firing durable.Firing) error {
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
			}
			return nil
		}, &durable.WorkOptions{Concurrency: 1, DrainTimeout: -1})
		f.setIn("running", time.Second)
		f.setIn("queued", time.Second+time.Millisecond)
		time.Sleep(2 * time.Second)
		f.b.delay("Free", time.Second)
		end()
		assert.Equal(t, seconds(1), f.times())
		assert.Equal(t, []string{"queued"}, f.keys())
	})
}

func TestReleasedEntryFiresInAnotherWork(t *testing.T) {
	inBubble(t, func(f *fixture) {
		end := f.work(func(ctx context.Context, firing durable.Firing) error {
			<-ctx.Done()
			return ctx.Err()
		}, &durable.WorkOptions{Concurrency: 1, DrainTimeout: time.Second, BaseBackoff: time.Hour})
		f.setIn("running", time.Second)
		f.setIn("queued", time.Second+time.Millisecond)
		time.Sleep(2 * time.Second)
		defer f.work(nil, nil)()
		f.setIn("moves the watermark", 2900*time.Millisecond)
		time.Sleep(2 * time.Second)
		end()
		time.Sleep(time.Second)
		assert.Len(t, f.times(), 4, "firings before the next sweep, at 9 s, of both released entries")
	})
}

func TestDrainStoresSuccessAfterTheLease(t *testing.T) {
	inBubble(t, func(f *fixture) {
		end := f.work(func(context.Context, durable.Firing) error {
			time.Sleep(5 * time.Second)
			return nil
		}, &durable.WorkOptions{DrainTimeout: -1})
		f.setIn("k", time.Second)
		time.Sleep(2 * time.Second)
		f.b.set("Heartbeat", durable.ErrLeaseLost)
		time.Sleep(2 * time.Second)
		end()
		f.b.set("Heartbeat", nil)
		defer f.work(nil, nil)()
		time.Sleep(time.Minute)
		assert.Len(t, f.times(), 1)
	})
}

func TestDrainDoesNotWaitForALostDatabase(t *testing.T) {
	for name, lease := range map[string]time.Duration{"lost lease": 0, "long lease": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				s, err := durable.New(f.t.Context(), f.b, &durable.Options{Lease: lease, Logger: slog.New(slog.DiscardHandler)})
				require.NoError(t, err)
				f.Store = s
				end := f.work(nil, &durable.WorkOptions{DrainTimeout: time.Second})
				f.setIn("k", time.Second)
				time.Sleep(900 * time.Millisecond) // it is claimed
				f.b.setAll(errors.New("the database is gone"))
				time.Sleep(10 * time.Second)
				begun := time.Now()
				end()
				assert.Less(t, time.Since(begun), 7*time.Second)
				assert.Len(t, f.times(), 1)
			})
		})
	}
}
