package backendtest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashedwheel/hwt/durable/backend"
)

// testPauses pauses rows by prefix and by group.
func testPauses(t *testing.T, b backend.Backend) {
	ctx := t.Context()
	equal(t, "error", b.PrepareKinds(ctx), nil)
	rows := map[string]backend.Row{}
	for i, key := range []string{"a/1", "a/2", "b/1", "b/2", "b\x00\xff"} {
		op := set(key, farDue+int64(i))
		op.Row.Group = []string{"", "g"}[i%2]
		rows[key] = apply(t, b, op).Row
	}
	worker := join(t, b)
	series := set("a/2", farDue+9).Row
	fresh := func(lanes ...backend.Lane) [][]string { return leaseLanes(t, b, lanes) }
	everything, ofKind := backend.Lane{Max: 9}, backend.Lane{Kind: "a/", Max: 9}
	for _, c := range []struct {
		scope           backend.Scope
		all, kind       []string // that are leased
		claimed, paused string
	}{
		{backend.Scope{Prefix: "a/"}, []string{"b/1", "b/2", "b\x00\xff"}, nil, "b/1", "a/1"},
		{backend.Scope{Group: "g"}, []string{"a/1", "b/1", "b\x00\xff"}, []string{"a/1"}, "a/1", "a/2"},
		{backend.Scope{Prefix: "b", Group: "g"}, []string{"a/1", "a/2", "b/1", "b\x00\xff"}, []string{"a/1", "a/2"}, "a/2", "b/2"},
		{backend.Scope{}, nil, nil, "", "b\x00\xff"},
	} {
		pause := backend.Pause{Scope: c.scope, Reason: "no \x00 luck", By: "me", Since: 7}
		equal(t, "error", b.Pause(ctx, backend.Pause{Scope: c.scope}), nil)
		equal(t, "error of the pause in its place", b.Pause(ctx, pause), nil)
		equal(t, "pauses", fmt.Sprintf("%+v", must(b.Paused(ctx))(t)), fmt.Sprintf("%+v", []backend.Pause{pause}))
		equal(t, fmt.Sprint("leased during ", c.scope), fresh(everything), [][]string{c.all})
		equal(t, fmt.Sprint("leased of the kind during ", c.scope), fresh(ofKind), [][]string{c.kind})
		claims := []backend.Claim{{Ref: rows[c.paused].Ref()}, {Ref: rows[c.paused].Ref(), Busy: backend.Wait}, {Ref: rows["a/2"].Ref(), Next: &series}}
		if c.paused != "a/2" {
			claims = claims[:2]
		}
		for _, answer := range must(b.Claim(ctx, worker, claims))(t) {
			equal(t, fmt.Sprint("claim during ", c.scope), answer, backend.Overtaken)
		}
		if c.claimed != "" {
			finish(t, b, worker, rows[c.claimed].Ref(), backend.Outcome{Fate: backend.Release})
		}
		equal(t, "error", b.Resume(ctx, c.scope), nil)
		fails(t, "second Resume", b.Resume(ctx, c.scope), backend.ErrNotFound)
	}
	equal(t, "pauses", len(must(b.Paused(ctx))(t)), 0)
	equal(t, "leased at the end", len(fresh(everything)[0]), 5)
}

// testPausedCrash pauses a row that a dead worker has claimed.
func testPausedCrash(t *testing.T, b backend.Backend) {
	ctx := t.Context()
	apply(t, b, set("a", 1))
	apply(t, b, set("b", 2))
	dying, heir := join(t, b), join(t, b)
	claim(t, b, dying, "a")
	claim(t, b, dying, "b")
	must(b.Heartbeat(ctx, dying, 0))(t)
	equal(t, "error", b.Pause(ctx, backend.Pause{Scope: backend.Scope{Prefix: "a"}}), nil)
	equal(t, "adopted during the pause", keys(must(b.Adopt(ctx, heir, nil, 1))(t)), "[b]")
	equal(t, "adopted then", len(must(b.Adopt(ctx, heir, nil, 9))(t)), 0)
	equal(t, "error", b.Resume(ctx, backend.Scope{Prefix: "a"}), nil)
	equal(t, "adopted after the pause", keys(must(b.Adopt(ctx, heir, nil, 9))(t)), "[a]")
}

// testPausedStats counts rows without the paused ones.
func testPausedStats(t *testing.T, b backend.Backend) {
	for i := range 5 {
		apply(t, b, set(fmt.Sprint("k", i), int64(i+1)))
	}
	stats := func() []int64 {
		st := must(b.Stats(t.Context(), []int64{1, 3, 9}))(t)
		return append(st.Due, st.Oldest, st.Pending, st.Pauses)
	}
	equal(t, "before", stats(), []int64{0, 2, 5, 1, 5, 0})
	equal(t, "error", b.Pause(t.Context(), backend.Pause{Scope: backend.Scope{Prefix: "k0"}}), nil)
	equal(t, "beside a pause", stats(), []int64{0, 1, 4, 2, 5, 1})
	equal(t, "error", b.Pause(t.Context(), backend.Pause{}), nil)
	equal(t, "in a paused store", stats(), []int64{0, 0, 0, 0, 5, 2})
}

// testPauseIsFinal pauses rows while workers claim them.
func testPauseIsFinal(t *testing.T, b backend.Backend) {
	worker := join(t, b)
	for i := range 10 {
		scope := backend.Scope{Prefix: fmt.Sprint(i, "/")}
		var claims []backend.Claim
		for n := range 20 {
			claims = append(claims, backend.Claim{Ref: apply(t, b, set(fmt.Sprint(i, "/", n), farDue)).Row.Ref()})
		}
		var paused atomic.Bool
		var claimer sync.WaitGroup
		claimer.Go(func() {
			for n := range claims {
				late := paused.Load()
				answers, err := b.Claim(t.Context(), worker, claims[n:n+1])
				if err != nil || late && answers[0] == backend.Won {
					t.Errorf("claim after Pause: %t, answers: %v, error: %v", late, answers, err)
				}
			}
		})
		if err := b.Pause(t.Context(), backend.Pause{Scope: scope}); err != nil {
			t.Error(err)
		}
		paused.Store(true)
		held := len(paged(t, b, scope.Prefix, 100, true)) - len(all(t, b, scope.Prefix, 100))
		claimer.Wait()
		equal(t, "rows claimed after Pause", len(paged(t, b, scope.Prefix, 100, true))-len(all(t, b, scope.Prefix, 100)), held)
	}
}
