package durable_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

// scoped are the calls that take a Scope.
var scoped = map[string]func(context.Context, *durable.Store, durable.Scope) error{
	"CancelMany": func(ctx context.Context, s *durable.Store, scope durable.Scope) error {
		_, err := s.CancelMany(ctx, scope)
		return err
	},
	"Pause": func(ctx context.Context, s *durable.Store, scope durable.Scope) error {
		return s.Pause(ctx, durable.Pause{Scope: scope})
	},
	"Resume": func(ctx context.Context, s *durable.Store, scope durable.Scope) error { return s.Resume(ctx, scope) },
	"Limit": func(ctx context.Context, s *durable.Store, scope durable.Scope) error {
		return s.Limit(ctx, scope, durable.Limit{Running: 1})
	},
	"RemoveLimit": func(ctx context.Context, s *durable.Store, scope durable.Scope) error {
		return s.RemoveLimit(ctx, scope)
	},
}

func TestInvalidScopeChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		scope durable.Scope
		says  []string
	}{
		"zero":           {durable.Scope{}, []string{" of no entries: ", "Scope without a condition (expected: Prefix or Group, or All for every entry)"}},
		"all of a group": {durable.Scope{All: true, Group: "g"}, []string{` of group "g": `, "Scope.All with a condition (expected: one or the other)"}},
		"all of a key":   {durable.Scope{All: true, Prefix: "k"}, []string{` of prefix "k": `, "Scope.All with a condition"}},
		"long prefix":    {durable.Scope{Prefix: strings.Repeat("k", 513)}, []string{"of 513 bytes (expected: up to 512)"}},
		"long group":     {durable.Scope{Prefix: "k", Group: strings.Repeat("g", 129)}, []string{` of prefix "k" and group "ggg`, "of 129 bytes (expected: up to 128)"}},
	} {
		for _, call := range slices.Sorted(maps.Keys(scoped)) {
			t.Run(call+"/"+name, func(t *testing.T) {
				inBubble(t, func(f *fixture) {
					ctx := f.t.Context()
					f.setIn("k", time.Hour, func(e *durable.Entry) { e.Group = "g" })
					require.NoError(t, f.Pause(ctx, durable.Pause{Scope: durable.Scope{All: true}}))
					require.NoError(t, f.Limit(ctx, durable.Scope{All: true}, durable.Limit{Running: 7}))
					err := scoped[call](ctx, f.Store, c.scope)
					require.ErrorIs(t, err, durable.ErrInvalid)
					for _, says := range append(c.says, "durable: "+call+" of ") {
						require.ErrorContains(t, err, says)
					}
					pauses, err := f.Paused(ctx)
					require.NoError(t, err)
					limits, err := f.Limits(ctx)
					require.NoError(t, err)
					assert.Equal(t, []string{"k"}, f.keys())
					assert.Len(t, pauses, 1)
					assert.Equal(t, durable.Scope{All: true}, pauses[0].Scope)
					assert.Len(t, limits, 1)
					assert.Equal(t, durable.LimitUse{Scope: durable.Scope{All: true}, Limit: durable.Limit{Running: 7}}, limits[0])
				})
			})
		}
	}
}

func TestErrorNamesTheWholeScope(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for want, scope := range map[string]durable.Scope{"all entries": {All: true}, `prefix "mail/" and group "a"`: {Prefix: "mail/", Group: "a"}} {
			t.Run(want, func(t *testing.T) {
				err := f.Resume(f.t.Context(), scope)
				require.ErrorIs(t, err, durable.ErrNotFound)
				require.ErrorContains(t, err, "durable: Resume of "+want+": ")
			})
		}
	})
}

func TestCancelManyCancelsItsScopeOnly(t *testing.T) {
	for name, c := range map[string]struct {
		scope durable.Scope
		left  []string
	}{
		"all":              {durable.Scope{All: true}, nil},
		"prefix":           {durable.Scope{Prefix: "a/"}, []string{"b/x", "b/y"}},
		"group":            {durable.Scope{Group: "x"}, []string{"a/y", "b/y"}},
		"prefix and group": {durable.Scope{Prefix: "a/", Group: "x"}, []string{"a/y", "b/x", "b/y"}},
		"neither":          {durable.Scope{Prefix: "c/"}, []string{"a/x", "a/y", "b/x", "b/y"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				for _, key := range []string{"a/x", "a/y", "b/x", "b/y"} {
					f.setIn(key, time.Hour, func(e *durable.Entry) { e.Group = e.Name() })
				}
				n, err := f.CancelMany(f.t.Context(), c.scope)
				require.NoError(t, err)
				assert.Equal(t, 4-len(c.left), n)
				assert.Equal(t, c.left, f.keys())
			})
		})
	}
}

// An error of the database ends the call, and the entries cancelled before are counted.
func TestCancelManyReturnsErrorsOfTheDatabase(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.setIn("k", time.Hour)
		broken := errors.New("broken")
		f.b.set("Apply", broken)
		n, err := f.CancelMany(f.t.Context(), durable.Scope{Prefix: "k"})
		require.ErrorIs(t, err, broken)
		require.Zero(t, n)
		f.b.set("Apply", nil)
		time.Sleep(time.Second) // the failed call takes place later
		assert.Empty(t, f.keys())
	})
}

func TestPauseAndLimitUsePrintAllFields(t *testing.T) {
	p := durable.Pause{Scope: durable.Scope{All: true}, Reason: "why", By: "me", Since: time.Unix(0, 0).UTC()}
	assert.Equal(t, `all entries paused by "me" since 1970-01-01T00:00:00Z: "why"`, p.String())
	l := durable.LimitUse{Scope: durable.Scope{Prefix: "mail/"}, Limit: durable.Limit{Running: 77}, Held: 5, Wants: 9}
	assert.Equal(t, `prefix "mail/": limit {Running:77 PerSecond:0 Burst:0}, 5 held, 9 wanted`, l.String())
}
