package durable_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/backend/backendtest"
)

// fixture is a store on a Memory in a synctest bubble.
type fixture struct {
	*durable.Store
	t     *testing.T
	b     *faulty
	start time.Time

	mu    sync.Mutex
	fired []durable.Firing // Guarded by mu.
	at    []time.Duration  // times of the firings since start. Guarded by mu.
}

// faulty is a Memory whose calls can fail.
type faulty struct {
	*backendtest.Memory
	mu     sync.Mutex
	fails  map[string]error     // Guarded by mu.
	offset time.Duration        // of its clock. Guarded by mu.
	leased map[backend.Ref]bool // if set, Lease returns each row once, and claims overdue ones, as PostgreSQL's does. Guarded by mu.
	during func()               // called inside Lease, if set
}

func (f *faulty) set(method string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails[method] = err
}

func (f *faulty) fail(method string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fails[method]
}

func (f *faulty) Now(ctx context.Context) (time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Add(f.offset), f.fails["Now"]
}

func (f *faulty) Lease(ctx context.Context, req backend.LeaseRequest) ([]backend.Row, error) {
	if err := f.fail("Lease"); err != nil {
		return nil, err
	}
	rows, err := f.Memory.Lease(ctx, req)
	f.mu.Lock()
	if f.leased != nil {
		rows = slices.DeleteFunc(rows, func(r backend.Row) bool { return f.leased[r.Ref()] })
	}
	for i := range rows {
		if r := &rows[i]; f.leased != nil {
			f.leased[r.Ref()] = true
			if r.Due <= time.Now().UnixNano() {
				r.State, r.Holder = backend.Claimed, req.Worker
				_, err = f.Memory.Claim(ctx, req.Worker, []backend.Claim{{Ref: r.Ref()}})
			}
		}
	}
	f.mu.Unlock()
	if f.during != nil {
		f.during()
	}
	return rows, err
}

func (f *faulty) Free(context.Context, int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.leased)
	return nil
}

func (f *faulty) Claim(ctx context.Context, worker int64, claims []backend.Claim) ([]bool, error) {
	if err := f.fail("Claim"); err != nil {
		return nil, err
	}
	return f.Memory.Claim(ctx, worker, claims)
}

func (f *faulty) Finish(ctx context.Context, tx any, worker int64, outcomes []backend.Outcome) ([]bool, error) {
	if err := f.fail("Finish"); err != nil {
		return nil, err
	}
	return f.Memory.Finish(ctx, tx, worker, outcomes)
}

func (f *faulty) Heartbeat(ctx context.Context, worker int64, ttl time.Duration) (int64, error) {
	if err := f.fail("Heartbeat"); err != nil {
		return 0, err
	}
	return f.Memory.Heartbeat(ctx, worker, ttl)
}

// inBubble runs a test on fake time.
func inBubble(t *testing.T, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &faulty{Memory: backendtest.NewMemory(), fails: make(map[string]error)}
		s, err := durable.New(b, &durable.Options{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		f := &fixture{Store: s, t: t, b: b, start: time.Now()}
		test(f)
		require.NoError(t, s.Close())
	})
}

// note records a firing.
func (f *fixture) note(firing durable.Firing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fired = append(f.fired, firing)
	f.at = append(f.at, time.Since(f.start).Truncate(time.Millisecond))
}

func (f *fixture) times() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

// work starts a Work whose handler notes the firing and then calls handler, if there is
// one. The returned function ends the Work and waits for it.
func (f *fixture) work(handler durable.Handler, options *durable.WorkOptions) (end func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	done := make(chan error, 1)
	go func() {
		done <- f.Work(ctx, func(ctx context.Context, firing durable.Firing) error {
			f.note(firing)
			if handler == nil {
				return nil
			}
			return handler(ctx, firing)
		}, options)
	}()
	return func() {
		cancel()
		assert.NoError(f.t, <-done)
	}
}

func (f *fixture) setIn(key string, d time.Duration, options ...durable.SetOption) durable.Entry {
	f.t.Helper()
	e, err := f.Set(f.t.Context(), key, time.Now().Add(d), []byte(key), options...)
	require.NoError(f.t, err)
	return e
}

func (f *fixture) keys() (keys []string) {
	f.t.Helper()
	for e, err := range f.All(f.t.Context(), "") {
		require.NoError(f.t, err)
		keys = append(keys, e.Key)
	}
	return keys
}

func (f *fixture) dead() (dead []durable.DeadLetter) {
	f.t.Helper()
	for d, err := range f.Dead(f.t.Context(), "") {
		require.NoError(f.t, err)
		dead = append(dead, d)
	}
	return dead
}

func seconds(all ...float64) (ds []time.Duration) {
	for _, s := range all {
		ds = append(ds, time.Duration(s*float64(time.Second)))
	}
	return ds
}

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
		assert.Zero(t, f.Stats().Claimed)
		assert.EqualValues(t, 4, f.Stats().Succeeded)
	})
}

func TestBurstFiresInOrderWithinMaxHeld(t *testing.T) {
	inBubble(t, func(f *fixture) {
		const n = 5000
		due := time.Now().Add(time.Minute)
		stored, err := f.SetMany(t.Context(), func(yield func(durable.Entry) bool) {
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
		ctx := t.Context()
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
		_, err := f.Requeue(t.Context(), "k", dead[0].Generation)
		require.NoError(t, err)
		_, err = f.Requeue(t.Context(), "k", dead[0].Generation)
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
		require.NoError(t, f.Discard(t.Context(), "k", dead[0].Generation))
		assert.Empty(t, f.dead())
		assert.ErrorIs(t, f.Discard(t.Context(), "k", dead[0].Generation), durable.ErrNotFound)
	})
}

func TestEntryDoesNotFireAfterNotAfter(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.setIn("late", time.Second, durable.NotAfter(time.Now().Add(2*time.Second)))
		f.setIn("in time", time.Second, durable.NotAfter(time.Now().Add(time.Hour)))
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

func TestCloseEndsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := durable.New(backendtest.NewMemory(), nil)
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() {
			done <- s.Work(t.Context(), func(context.Context, durable.Firing) error { return nil }, nil)
		}()
		time.Sleep(time.Second)
		require.NoError(t, s.Close())
		assert.ErrorIs(t, <-done, durable.ErrClosed)
		_, err = s.Get(t.Context(), "k")
		assert.ErrorIs(t, err, durable.ErrClosed)
		assert.ErrorIs(t, s.Work(t.Context(), func(context.Context, durable.Firing) error { return nil }, nil), durable.ErrClosed)
	})
}

func TestCloseInsideHandlerDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backendtest.NewMemory()
		s, err := durable.New(b, nil)
		require.NoError(t, err)
		_, err = s.Set(t.Context(), "k", time.Now().Add(time.Second), nil)
		require.NoError(t, err)
		var took time.Duration
		err = s.Work(t.Context(), func(context.Context, durable.Firing) error {
			begun := time.Now()
			assert.NoError(t, s.Close())
			took = time.Since(begun)
			time.Sleep(time.Second)
			return nil
		}, nil)
		require.ErrorIs(t, err, durable.ErrClosed)
		require.Zero(t, took)
		require.Empty(t, b.Rows("k"), "rows after the acknowledgement")
		require.NoError(t, s.Close())
		_, err = b.Get(t.Context(), "k")
		require.ErrorIs(t, err, durable.ErrClosed, "the database after the second Close")
	})
}
