package durable_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

// bury makes dead letters of keys with an error.
func (f *fixture) bury(text string, keys ...string) {
	f.t.Helper()
	for _, key := range keys {
		f.setIn(key, 0, func(e *durable.Entry) { e.Group = e.Name() })
	}
	before := len(f.dead())
	end := f.work(func(context.Context, durable.Firing) error { return durable.GiveUp(errors.New(text)) }, nil)
	time.Sleep(time.Second)
	end()
	require.Len(f.t, f.dead(), before+len(keys))
}

// letterKeys returns the keys of the dead letters.
func (f *fixture) letterKeys() (keys []string) {
	for _, d := range f.dead() {
		keys = append(keys, d.Key)
	}
	return keys
}

func TestLettersSelectByEachCondition(t *testing.T) {
	for name, c := range map[string]struct {
		letters func(early time.Time) durable.Letters
		left    []string
	}{
		"all":        {func(time.Time) durable.Letters { return durable.Letters{All: true} }, nil},
		"prefix":     {func(time.Time) durable.Letters { return durable.Letters{Prefix: "a/"} }, []string{"b/1", "b/2"}},
		"error":      {func(time.Time) durable.Letters { return durable.Letters{Error: "refused"} }, []string{"a/1", "b/1"}},
		"group":      {func(time.Time) durable.Letters { return durable.Letters{Group: "1"} }, []string{"a/2", "b/2"}},
		"reason":     {func(time.Time) durable.Letters { return durable.Letters{Reason: durable.Failed} }, nil},
		"no reason":  {func(time.Time) durable.Letters { return durable.Letters{Reason: durable.Expired} }, []string{"a/1", "a/2", "b/1", "b/2"}},
		"before":     {func(early time.Time) durable.Letters { return durable.Letters{Before: early} }, []string{"a/2", "b/2"}},
		"all of two": {func(early time.Time) durable.Letters { return durable.Letters{Prefix: "b/", Before: early} }, []string{"a/1", "a/2", "b/2"}},
		"nothing":    {func(time.Time) durable.Letters { return durable.Letters{Prefix: "c/"} }, []string{"a/1", "a/2", "b/1", "b/2"}},
	} {
		for verb, many := range map[string]func(*durable.Store, context.Context, durable.Letters) (int, error){
			"requeue": (*durable.Store).RequeueMany, "discard": (*durable.Store).DiscardMany} {
			t.Run(name+"/"+verb, func(t *testing.T) {
				inBubble(t, func(f *fixture) {
					f.bury("no such order", "a/1", "b/1")
					early := time.Now()
					f.bury("connection refused", "a/2", "b/2")
					n, err := many(f.Store, f.t.Context(), c.letters(early))
					require.NoError(t, err)
					assert.Equal(t, 4-len(c.left), n)
					assert.Equal(t, c.left, f.letterKeys())
					if verb == "requeue" {
						assert.Len(t, f.keys(), n)
					} else {
						assert.Empty(t, f.keys())
					}
				})
			})
		}
	}
}

// Their time was read from a clock that was ahead.
func TestLettersOfALaterTimeAreSelected(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.bury("no", "a")
		f.b.shift(-time.Hour)
		n, err := f.DiscardMany(f.t.Context(), durable.Letters{All: true})
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})
}

func TestLettersSelectByEachReason(t *testing.T) {
	for reason, key := range map[durable.Reason]string{durable.Failed: "failed", durable.Expired: "expired", durable.Crashed: "crashed"} {
		t.Run(reason.String(), func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.setIn("crashed", 0)
				f.crash("crashed")
				f.setIn("expired", 0, notAfter(time.Now()))
				f.setIn("failed", 0)
				time.Sleep(time.Second)
				end := f.work(func(context.Context, durable.Firing) error { return errors.New("no") }, &durable.WorkOptions{MaxAttempts: 1, MaxCrashes: 1})
				time.Sleep(10 * time.Second)
				end()
				require.Len(t, f.dead(), 3)
				for _, letter := range f.dead() {
					assert.Equal(t, letter.Key, letter.Reason.String())
				}
				n, err := f.DiscardMany(f.t.Context(), durable.Letters{Reason: reason})
				require.NoError(t, err)
				assert.Equal(t, 1, n)
				assert.NotContains(t, f.letterKeys(), key)
			})
		})
	}
}

func TestRequeueManySpreadsDueTimes(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.bury("no", "a", "b", "c", "d")
		fired := len(f.times())
		n, err := f.RequeueMany(f.t.Context(), durable.Letters{All: true, PerSecond: 2})
		require.NoError(t, err)
		assert.Equal(t, 4, n)
		begun := time.Since(f.start)
		defer f.work(nil, nil)()
		time.Sleep(time.Minute)
		for i, at := range f.times()[fired:] {
			assert.Equal(t, begun+time.Duration(i)*time.Second/2, at)
		}
	})
}

func TestRequeueManyKeepsLettersOfPendingKeys(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.bury("no", "a", "b", "c")
		f.setIn("b", time.Hour)
		n, err := f.RequeueMany(f.t.Context(), durable.Letters{All: true})
		assert.Equal(t, 2, n)
		require.ErrorIs(t, err, durable.ErrExists)
		require.ErrorContains(t, err, `"b"`)
		assert.Equal(t, []string{"b"}, f.letterKeys())
	})
}

// Otherwise the call goes on for as long as the handler fails.
func TestRequeueManyLeavesOutLaterLetters(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.bury("no", "a")
		defer f.work(func(context.Context, durable.Firing) error { return durable.GiveUp(errors.New("again")) }, nil)()
		f.b.delay("DeadPage", time.Second)
		ctx, cancel := context.WithTimeout(f.t.Context(), time.Hour)
		defer cancel()
		n, err := f.RequeueMany(ctx, durable.Letters{All: true})
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		assert.Equal(t, []string{"a"}, f.letterKeys())
	})
}

func TestLettersArePassedInBatches(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var keys []string
		for i := range 2000 {
			keys = append(keys, fmt.Sprintf("%04d", i))
		}
		f.bury("no", keys...)
		n, err := f.RequeueMany(f.t.Context(), durable.Letters{Prefix: "0"})
		require.NoError(t, err)
		assert.Equal(t, 1000, n)
		assert.Equal(t, keys[:1000], f.keys())
		n, err = f.DiscardMany(f.t.Context(), durable.Letters{All: true})
		require.NoError(t, err)
		assert.Equal(t, 1000, n)
	})
}

func TestWorkersDeleteLettersOlderThanKeepDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := durable.New(t.Context(), memdb.New(), &durable.Options{KeepDead: 3 * time.Hour})
		require.NoError(t, err)
		defer s.Close()
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go s.Work(ctx, func(context.Context, durable.Firing) error { return durable.GiveUp(errors.New("no")) }, nil)
		for _, after := range []time.Duration{0, 90 * time.Minute} {
			_, err := s.Set(ctx, durable.Entry{Key: fmt.Sprint(after), Due: time.Now().Add(after)})
			require.NoError(t, err)
		}
		for _, c := range []struct {
			after time.Duration
			left  int64
		}{{170 * time.Minute, 2}, {80 * time.Minute, 1}, {10 * time.Minute, 1}, {50 * time.Minute, 0}} {
			time.Sleep(c.after)
			st, err := s.Stats(ctx)
			require.NoError(t, err)
			assert.Equal(t, c.left, st.Dead)
		}
	})
}
