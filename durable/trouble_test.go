package durable_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

var errGone = errors.New("the database is gone")

// requireLogged fails the test unless a message is in the log once, with the error, and the error is in Stats.
func (f *fixture) requireLogged(message string) {
	f.t.Helper()
	require.Equal(f.t, 1, strings.Count(f.log.String(), message), f.log)
	require.Contains(f.t, f.log.String(), errGone.Error())
	require.Contains(f.t, f.stats().LastError, errGone.Error())
}

func TestAdoptionContinuesAfterAnError(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.setIn("k", 0)
		f.crash("k")
		f.b.set("Adopt", errGone)
		defer f.work(nil, nil)()
		f.setIn("other", time.Second)
		time.Sleep(30 * time.Second)
		require.Equal(t, seconds(1), f.times(), "other entries fire")
		f.requireLogged("cannot take over entries of other workers")
		f.b.set("Adopt", nil)
		time.Sleep(2 * time.Second)
		require.Len(t, f.times(), 2)
		require.Equal(t, "k", f.fired[1].Key)
	})
}

// Store.Limit may have returned before this worker came.
func TestUnreadLimitsLetNoHandlerBegin(t *testing.T) {
	inBubble(t, func(f *fixture) {
		g := newGauge()
		require.NoError(t, f.Limit(f.t.Context(), everything, durable.Limit{Running: 2}))
		f.b.set("Limited", errGone)
		defer f.work(g.handler(time.Second), nil)()
		f.fill("mail", "", 10)
		time.Sleep(30 * time.Second)
		require.Zero(t, g.count(""))
		f.requireLogged("cannot read the limits")
		f.b.set("Limited", nil)
		time.Sleep(30 * time.Second)
		require.Equal(t, 10, g.count(""))
		require.Equal(t, 2, g.mostOf(""))
	})
}

// The worker keeps its permits while it cannot ask for others.
func TestLimitHoldsWhileTheDatabaseIsGone(t *testing.T) {
	inBubble(t, func(f *fixture) {
		g := newGauge()
		require.NoError(t, f.Limit(f.t.Context(), durable.Scope{Prefix: "mail/"}, durable.Limit{Running: 2}))
		defer f.work(g.handler(100*time.Millisecond), nil)()
		f.b.set("Share", errGone)
		f.fill("mail", "", 10)
		f.fill("other", "", 10)
		time.Sleep(5 * time.Second)
		require.Equal(t, 10, g.count("other"))
		require.Zero(t, g.count("mail"))
		f.requireLogged("cannot share the limits")
		f.b.set("Share", nil)
		time.Sleep(5 * time.Second)
		require.Equal(t, 10, g.count("mail"))
		f.fill("mail", "", 100)
		time.Sleep(time.Second)
		f.b.set("Share", errGone)
		f.b.set("Limited", errGone)
		before := g.count("mail")
		time.Sleep(2 * time.Second)
		require.InDelta(t, before+40, g.count("mail"), 4, "under the permits that it has")
		f.b.set("Share", nil)
		f.b.set("Limited", nil)
		time.Sleep(5 * time.Second)
		require.Equal(t, 110, g.count("mail"))
		require.Equal(t, 2, g.mostOf("mail"))
	})
}

// The rows stay leased until the Work has ended.
func TestDrainEndsWithoutFreeingRows(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.b.leased = make(map[backend.Ref]bool)
		end := f.work(nil, nil)
		f.setIn("k", 900*time.Millisecond)
		time.Sleep(300 * time.Millisecond)
		f.b.set("Free", errGone)
		end()
		f.requireLogged("cannot free leased entries")
		require.Equal(t, []string{"k"}, f.keys())
		f.b.set("Free", nil)
		require.NoError(t, f.b.Free(f.t.Context(), 0)) // as at the end of the lease
		defer f.work(nil, nil)()
		time.Sleep(time.Minute)
		require.Len(t, f.times(), 1)
	})
}

func TestKeepDeadLooksAgainAfterAnError(t *testing.T) {
	for keep, again := range map[time.Duration]time.Duration{10 * time.Minute: 10 * time.Minute, 30 * time.Hour: time.Hour} {
		t.Run(keep.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := openFaulty(t, durable.Options{KeepDead: keep})
				defer f.Close()
				f.bury("no", "old")
				time.Sleep(keep)
				f.b.set("DeadPage", errGone)
				defer f.work(nil, nil)()
				time.Sleep(again / 2)
				f.requireLogged("cannot discard old dead letters")
				f.b.set("DeadPage", nil)
				require.Len(t, f.dead(), 1, "before the next look")
				time.Sleep(again)
				require.Empty(t, f.dead())
			})
		})
	}
}

func TestEachCloseReturnsTheErrorOfTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openFaulty(t, durable.Options{})
		f.b.set("Close", errGone)
		closed := make(chan error, 2)
		f.setIn("k", 0)
		f.work(func(context.Context, durable.Firing) error {
			assert.NoError(t, f.Close(), "in a handler, which the database outlives")
			return nil
		}, nil)
		go func() { closed <- f.Close() }()
		go func() { closed <- f.Close() }()
		require.ErrorIs(t, <-closed, errGone)
		require.ErrorIs(t, <-closed, errGone)
		require.ErrorIs(t, f.Close(), errGone)
	})
}

// A damaged limit stops its scope, and no other.
func TestDamagedLimitStopsItsScopeOnly(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx := f.t.Context()
		damaged := backend.Limit{Scope: backend.Scope{Prefix: "mail/"}, Running: -5}
		damaged, damage := backend.StoredLimit(damaged)
		require.ErrorIs(t, damage, durable.ErrDamaged)
		require.NoError(t, f.b.SetLimit(ctx, damaged))
		end := f.work(nil, nil)
		f.fill("mail", "", 3)
		f.fill("other", "", 3)
		time.Sleep(time.Minute)
		require.Len(t, f.times(), 3)
		require.Equal(t, []string{"mail/0", "mail/1", "mail/2"}, f.keys())
		limits, err := f.Limits(ctx)
		require.NoError(t, err) // of this database, which does not verify
		require.Empty(t, limits)
		require.NoError(t, f.Limit(ctx, durable.Scope{Prefix: "mail/"}, durable.Limit{Running: 5}))
		time.Sleep(time.Minute)
		require.Len(t, f.times(), 6)
		end()
	})
}
