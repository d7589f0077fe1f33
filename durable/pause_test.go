package durable_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

func TestPausedEntriesFireAfterTheResume(t *testing.T) {
	for name, scope := range map[string]durable.Scope{"store": {All: true}, "prefix": {Prefix: "mail/"}, "group": {Group: "tenant"}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				ctx := f.t.Context()
				defer f.work(nil, nil)()
				require.NoError(t, f.Pause(ctx, durable.Pause{Scope: scope, Reason: "outage", By: "me"}))
				_, err := f.Set(ctx, durable.Entry{Key: "mail/1", Due: time.Now().Add(time.Second), Group: "tenant"})
				require.NoError(t, err)
				expires := time.Now().Add(10 * time.Second)
				_, err = f.Set(ctx, durable.Entry{Key: "mail/2", Due: time.Now().Add(time.Second), NotAfter: expires, Group: "tenant"})
				require.NoError(t, err)
				time.Sleep(time.Hour)
				synctest.Wait()
				assert.Empty(t, f.times())
				st, err := f.Stats(ctx)
				require.NoError(t, err)
				assert.Zero(t, st.Overdue)
				assert.Zero(t, st.Due[0].Entries)
				assert.EqualValues(t, 2, st.Pending)
				for range f.Dead(ctx, "") {
					t.Error("a paused entry became a dead letter")
				}
				pauses, err := f.Paused(ctx)
				require.NoError(t, err)
				require.Len(t, pauses, 1)
				assert.Equal(t, durable.Pause{Scope: scope, Reason: "outage", By: "me", Since: f.start.UTC()}, pauses[0])

				require.NoError(t, f.Resume(ctx, scope))
				err = f.Resume(ctx, scope)
				require.ErrorIs(t, err, durable.ErrNotFound)
				require.ErrorContains(t, err, "no pause of exactly this scope found")
				time.Sleep(time.Second)
				synctest.Wait()
				assert.Len(t, f.times(), 1)
				for letter, err := range f.Dead(ctx, "") {
					require.NoError(t, err)
					assert.Equal(t, durable.Expired, letter.Reason)
				}
			})
		})
	}
}

func TestOtherEntriesFireBesideAPause(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx := f.t.Context()
		defer f.work(nil, nil)()
		require.NoError(t, f.Pause(ctx, durable.Pause{Scope: durable.Scope{Prefix: "mail/", Group: "tenant"}}))
		for _, e := range []durable.Entry{{Key: "mail/1"}, {Key: "sms/1", Group: "tenant"}, {Key: "mail/2", Group: "tenant"}} {
			e.Due = time.Now()
			_, err := f.Set(ctx, e)
			require.NoError(t, err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Len(t, f.times(), 2)
	})
}

func TestOptionPausedPausesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memdb.New()
		s, err := durable.New(t.Context(), db, &durable.Options{Paused: "a copy"})
		require.NoError(t, err)
		f := &fixture{Store: s, t: t, start: time.Now()}
		end := f.work(nil, nil)
		f.setIn("k", 0)
		time.Sleep(time.Minute)
		assert.Empty(t, f.times())
		assert.EqualValues(t, 1, f.stats().Pauses)
		pauses, err := s.Paused(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []durable.Pause{{Scope: durable.Scope{All: true}, Reason: "a copy", By: "Options.Paused", Since: f.start.UTC()}}, pauses)
		require.NoError(t, s.Resume(t.Context(), durable.Scope{All: true}))
		time.Sleep(time.Minute)
		assert.Len(t, f.times(), 1)
		_, err = durable.New(t.Context(), db, &durable.Options{Paused: strings.Repeat("x", 1025)})
		require.ErrorIs(t, err, durable.ErrInvalid)
		require.ErrorContains(t, err, "Options.Paused")
		require.ErrorContains(t, err, "of 1025 bytes (expected: up to 1024 bytes)")
		end()
		require.NoError(t, db.Close())
		_, err = durable.New(t.Context(), db, &durable.Options{Paused: "a copy"})
		require.ErrorIs(t, err, durable.ErrClosed)
	})
}

func TestInvalidPausesAreNamed(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx, long := f.t.Context(), strings.Repeat("x", 1025)
		for says, err := range map[string]error{
			"prefix \"xxx":                           f.Pause(ctx, durable.Pause{Scope: durable.Scope{Prefix: long}}),
			"129 bytes (expected: up to 128)":        f.Resume(ctx, durable.Scope{Group: long[:129]}),
			"Pause.Reason of 1025 bytes (expected: ": f.Pause(ctx, durable.Pause{Scope: durable.Scope{All: true}, Reason: long}),
			"Pause.By of 1025 bytes (expected: ":     f.Pause(ctx, durable.Pause{Scope: durable.Scope{All: true}, By: long}),
		} {
			assert.ErrorIs(t, err, durable.ErrInvalid)
			assert.ErrorContains(t, err, says)
		}
		pauses, err := f.Paused(ctx)
		require.NoError(t, err)
		assert.Empty(t, pauses)
	})
}
