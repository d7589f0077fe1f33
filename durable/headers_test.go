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

func TestGroupAndHeadersOutliveAllVersions(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx := f.t.Context()
		headers := map[string]string{"trace": "00-1", "empty": "", "\xff": strings.Repeat("v", 300)}
		entry := durable.Entry{Key: "k", Every: durable.Every{Spec: "@every 1h"}, Group: "tenant", Headers: headers}
		stored, err := f.Set(ctx, entry)
		require.NoError(t, err)
		same := func(e durable.Entry) {
			t.Helper()
			assert.Equal(t, "tenant", e.Group)
			assert.Equal(t, headers, e.Headers)
		}
		same(stored)
		moved, err := f.Move(ctx, "k", time.Now().Add(time.Minute))
		require.NoError(t, err)
		same(moved)
		fail := errors.New("failed")
		stop := f.work(func(_ context.Context, firing durable.Firing) error {
			firing.Headers["trace"] = "changed by the handler"
			return fail
		}, &durable.WorkOptions{MaxAttempts: 2, MaxBackoff: time.Second})
		time.Sleep(time.Minute + 10*time.Second)
		synctest.Wait()
		next, err := f.Get(ctx, "k")
		require.NoError(t, err)
		same(next)
		for letter, err := range f.Dead(ctx, "") {
			require.NoError(t, err)
			same(letter.Entry)
			revived, err := f.Requeue(ctx, letter.Key, letter.Generation)
			require.NoError(t, err)
			same(revived)
		}
		stop()
		cancelled, err := f.Cancel(ctx, "k")
		require.NoError(t, err)
		same(cancelled)
	})
}

func TestEmptyHeadersAreStoredAsNone(t *testing.T) {
	inBubble(t, func(f *fixture) {
		stored, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Due: time.Now(), Headers: map[string]string{}})
		require.NoError(t, err)
		assert.Nil(t, stored.Headers)
		assert.Empty(t, f.b.Rows("k")[0].Headers)
	})
}

func TestHeadersOfTheLargestSizeAreStored(t *testing.T) {
	inBubble(t, func(f *fixture) {
		_, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Due: time.Now(), Headers: map[string]string{"h": strings.Repeat("v", 8188)}})
		require.NoError(t, err)
		require.Len(t, f.b.Rows("k")[0].Headers, 8<<10)
	})
}

func TestMalformedHeadersAreDamage(t *testing.T) {
	for name, text := range map[string]string{"no value": "\x01h", "short": "\x01h\x05v", "length": "\xff", "overflow": "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				ctx := f.t.Context()
				_, err := f.b.DB.Apply(ctx, []backend.Op{{Kind: backend.Set, Row: backend.Row{Key: "d", Due: 1, Headers: text}}})
				require.NoError(t, err)
				_, err = f.Get(ctx, "d")
				require.ErrorIs(t, err, durable.ErrDamaged)
				require.ErrorContains(t, err, "headers")
			})
		})
	}
}
