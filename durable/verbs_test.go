package durable_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

// answers are the errors of the verbs on a key. nil is success.
type answers struct {
	set, create, move, cancel, get, ifSet, ifMove, ifCancel, requeue, discard error
}

// keyStates are the states of the key "k". begin returns the generation of the version that the state has, for If,
// Requeue, and Discard.
var keyStates = map[string]struct {
	begin func(f *fixture) uint64
	want  answers
}{
	"absent": {
		func(*fixture) uint64 { return 1 },
		answers{move: durable.ErrNotFound, cancel: durable.ErrNotFound, get: durable.ErrNotFound, ifSet: durable.ErrNotFound,
			ifMove: durable.ErrNotFound, ifCancel: durable.ErrNotFound, requeue: durable.ErrNotFound, discard: durable.ErrNotFound},
	},
	"pending": {
		func(f *fixture) uint64 { return f.setIn("k", time.Hour).Generation },
		answers{create: durable.ErrExists, requeue: durable.ErrNotFound, discard: durable.ErrNotFound},
	},
	"of another version": {
		func(f *fixture) uint64 {
			old := f.setIn("k", time.Hour)
			f.setIn("k", time.Hour)
			return old.Generation
		},
		answers{create: durable.ErrExists, ifSet: durable.ErrConflict, ifMove: durable.ErrConflict, ifCancel: durable.ErrConflict,
			requeue: durable.ErrNotFound, discard: durable.ErrNotFound},
	},
	"firing": {
		func(f *fixture) uint64 { return f.firing().Generation },
		answers{move: durable.ErrFired, cancel: durable.ErrFired, get: durable.ErrFired, ifSet: durable.ErrFired,
			ifMove: durable.ErrFired, ifCancel: durable.ErrFired, requeue: durable.ErrNotFound, discard: durable.ErrNotFound},
	},
	"firing, and set again": {
		func(f *fixture) uint64 { f.firing(); return f.setIn("k", time.Hour).Generation },
		answers{create: durable.ErrExists, requeue: durable.ErrNotFound, discard: durable.ErrNotFound},
	},
	"done": {
		func(f *fixture) uint64 { return f.ended(nil).Generation },
		answers{move: durable.ErrNotFound, cancel: durable.ErrNotFound, get: durable.ErrNotFound, ifSet: durable.ErrNotFound,
			ifMove: durable.ErrNotFound, ifCancel: durable.ErrNotFound, requeue: durable.ErrNotFound, discard: durable.ErrNotFound},
	},
	"a waiting retry": {
		func(f *fixture) uint64 {
			f.ended(durable.RetryAfter(time.Hour))
			e, err := f.Get(f.t.Context(), "k")
			require.NoError(f.t, err)
			return e.Generation
		},
		answers{create: durable.ErrExists, requeue: durable.ErrNotFound, discard: durable.ErrNotFound},
	},
	"a dead letter": {
		func(f *fixture) uint64 { return f.ended(durable.GiveUp(errors.New("no"))).Generation },
		answers{move: durable.ErrNotFound, cancel: durable.ErrNotFound, get: durable.ErrNotFound, ifSet: durable.ErrNotFound,
			ifMove: durable.ErrNotFound, ifCancel: durable.ErrNotFound},
	},
	"a dead letter beside a pending entry": {
		func(f *fixture) uint64 {
			dead := f.ended(durable.GiveUp(errors.New("no"))).Generation
			f.setIn("k", time.Hour)
			return dead
		},
		answers{create: durable.ErrExists, ifSet: durable.ErrConflict, ifMove: durable.ErrConflict, ifCancel: durable.ErrConflict, requeue: durable.ErrExists},
	},
}

// firing fires "k" in a handler that runs until the test ends.
func (f *fixture) firing() (firing durable.Firing) {
	f.t.Helper()
	go func() {
		_ = f.Work(f.t.Context(), func(ctx context.Context, firing durable.Firing) error { f.note(firing); return hang(ctx, firing) },
			&durable.WorkOptions{DrainTimeout: -1})
	}()
	f.setIn("k", 0)
	time.Sleep(time.Second)
	require.Len(f.t, f.firings(), 1)
	return f.firings()[0]
}

// ended fires "k" in a handler that returns an error, and returns the firing.
func (f *fixture) ended(err error) durable.Firing {
	f.t.Helper()
	end := f.work(func(context.Context, durable.Firing) error { return err }, nil)
	f.setIn("k", 0)
	time.Sleep(time.Second)
	end()
	require.Len(f.t, f.firings(), 1)
	return f.firings()[0]
}

func TestVerbsAnswerByTheStateOfTheKey(t *testing.T) {
	for state, c := range keyStates {
		for verb, v := range map[string]struct {
			want error
			call func(ctx context.Context, e durable.Entries, generation uint64) error
		}{
			"Set":    {c.want.set, func(ctx context.Context, e durable.Entries, _ uint64) error { return second(e.Set(ctx, plain("k"))) }},
			"Create": {c.want.create, func(ctx context.Context, e durable.Entries, _ uint64) error { return second(e.Create(ctx, plain("k"))) }},
			"Move": {c.want.move, func(ctx context.Context, e durable.Entries, _ uint64) error {
				return second(e.Move(ctx, "k", plain("").Due))
			}},
			"Cancel": {c.want.cancel, func(ctx context.Context, e durable.Entries, _ uint64) error { return second(e.Cancel(ctx, "k")) }},
			"Get":    {c.want.get, func(ctx context.Context, e durable.Entries, _ uint64) error { return second(e.Get(ctx, "k")) }},
			"If.Set": {c.want.ifSet, func(ctx context.Context, e durable.Entries, g uint64) error {
				return second(e.If(g).Set(ctx, plain("k")))
			}},
			"If.Move": {c.want.ifMove, func(ctx context.Context, e durable.Entries, g uint64) error {
				return second(e.If(g).Move(ctx, "k", plain("").Due))
			}},
			"If.Cancel": {c.want.ifCancel, func(ctx context.Context, e durable.Entries, g uint64) error { return second(e.If(g).Cancel(ctx, "k")) }},
			"Requeue":   {c.want.requeue, func(ctx context.Context, e durable.Entries, g uint64) error { return second(e.Requeue(ctx, "k", g)) }},
			"Discard":   {c.want.discard, func(ctx context.Context, e durable.Entries, g uint64) error { return e.Discard(ctx, "k", g) }},
		} {
			for _, inTx := range []bool{false, true} {
				t.Run(state+"/"+verb+map[bool]string{true: " in a transaction"}[inTx], func(t *testing.T) {
					inBubble(t, func(f *fixture) {
						generation := c.begin(f)
						ctx, entries := f.t.Context(), f.Entries
						if inTx {
							tx, err := f.b.Begin(ctx)
							require.NoError(t, err)
							defer tx.Commit()
							entries = durable.NewTx(f.Store, tx).Entries
						}
						err := v.call(ctx, entries, generation)
						if v.want == nil {
							require.NoError(t, err)
						} else {
							require.ErrorIs(t, err, v.want)
							require.ErrorContains(t, err, `"k"`)
						}
					})
				})
			}
		}
	}
}

// Cancel with If finds a waiting retry beside a later entry of the key.
func TestCancelWithIfFindsAWaitingRetry(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx := f.t.Context()
		end := f.work(func(context.Context, durable.Firing) error {
			time.Sleep(time.Second)
			return durable.RetryAfter(time.Hour)
		}, nil)
		f.setIn("k", 0)
		time.Sleep(500 * time.Millisecond)
		later := f.setIn("k", 2*time.Hour)
		time.Sleep(2 * time.Second)
		end()
		var retry durable.Entry
		for e, err := range f.All(ctx, "k") {
			require.NoError(t, err)
			if e.Generation != later.Generation {
				retry = e
			}
		}
		require.Equal(t, 2, retry.Attempt)
		cancelled, err := f.If(retry.Generation).Cancel(ctx, "k")
		require.NoError(t, err)
		assert.Equal(t, retry.Generation, cancelled.Generation)
		left, err := f.Get(ctx, "k")
		require.NoError(t, err)
		assert.Equal(t, later.Generation, left.Generation)
	})
}

func TestEachVersionHasALargerGeneration(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx := f.t.Context()
		var all []durable.Entry
		note := func(e durable.Entry, err error) durable.Entry {
			t.Helper()
			require.NoError(t, err)
			if len(all) > 0 {
				require.Greater(t, e.Generation, all[len(all)-1].Generation)
			}
			all = append(all, e)
			return e
		}
		note(f.Set(ctx, plain("k")))
		note(f.Set(ctx, plain("k")))
		note(f.Move(ctx, "k", time.Now().Add(time.Minute)))
		end := f.work(func(_ context.Context, firing durable.Firing) error {
			if firing.Attempt < 2 {
				return durable.RetryAfter(time.Minute)
			}
			return errors.New("no")
		}, &durable.WorkOptions{MaxAttempts: 2})
		time.Sleep(90 * time.Second)
		retry := note(f.Get(ctx, "k"))
		assert.Equal(t, 2, retry.Attempt)
		assert.Equal(t, f.start.Add(2*time.Minute).UTC(), retry.Due.Truncate(time.Second), "the end of the pause")
		time.Sleep(time.Hour)
		end()
		letter := f.dead()[0]
		assert.Equal(t, retry.Generation, letter.Generation)
		revived := note(f.Requeue(ctx, "k", letter.Generation))
		assert.Equal(t, 1, revived.Attempt)
		cancelled, err := f.Cancel(ctx, "k")
		require.NoError(t, err)
		assert.Equal(t, revived, cancelled)
	})
}
