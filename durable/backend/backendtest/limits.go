package backendtest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// testLimits stores, replaces, and removes limits.
func testLimits(t *testing.T, b backend.Backend) {
	ctx := t.Context()
	known := must(b.Limited(ctx, backend.Version{}))(t)
	equal(t, "without limits", known, backend.Limited{})
	limits := []backend.Limit{
		{Running: 7},
		{Scope: backend.Scope{Group: "tenant\x00\xff"}, PerSecond: 0.1, Burst: 1},
		{Scope: backend.Scope{Prefix: "a/"}, Running: backend.MaxRunning, PerSecond: 99.9, Burst: backend.MaxBurst},
		{Scope: backend.Scope{Prefix: "a/", Group: "g"}, Running: 1},
	}
	for _, i := range []int{3, 1, 0, 2} {
		equal(t, "error", b.SetLimit(ctx, backend.Limit{Scope: limits[i].Scope, Running: 1}), nil)
		equal(t, "error", b.SetLimit(ctx, limits[i]), nil)
	}
	check := func(what string, want []backend.Limit) {
		t.Helper()
		now := must(b.Limited(ctx, known.Version))(t)
		if now.Version == known.Version {
			t.Fatalf("%s: the version stays %v", what, now.Version)
		}
		var got []backend.Limit
		for _, use := range now.Limits {
			got = append(got, use.Limit)
		}
		equal(t, what, got, want)
		known = now
		equal(t, "limits of the known version", len(must(b.Limited(ctx, known.Version))(t).Limits), 0)
	}
	check("limits", limits)
	equal(t, "error", b.SetLimit(ctx, limits[1]), nil)
	check("after a limit was set again", limits)
	equal(t, "error", b.RemoveLimit(ctx, limits[1].Scope), nil)
	limits = append(limits[:1:1], limits[2:]...)
	check("after the newest was removed", limits)
	fails(t, "second removal", b.RemoveLimit(ctx, backend.Scope{Group: "tenant\x00\xff"}), backend.ErrNotFound)
	equal(t, "error", b.RemoveLimit(ctx, backend.Scope{}), nil)
	check("after another was removed", limits[1:])
}

// limited returns the use of the only limit.
func limited(t testing.TB, b backend.Backend) (use backend.LimitUse, unaware int) {
	t.Helper()
	all := must(b.Limited(t.Context(), backend.Version{}))(t)
	equal(t, "limits", len(all.Limits), 1)
	return all.Limits[0], all.Unaware
}

func share(t testing.TB, b backend.Backend, worker int64, d backend.Demand) backend.Grant {
	t.Helper()
	newest := must(b.Limited(t.Context(), backend.Version{}))(t).Version.Newest
	return must(b.Share(t.Context(), worker, newest, []backend.Demand{d}))(t)[0]
}

// testPermits shares a limit among workers.
func testPermits(t *testing.T, b backend.Backend) {
	ctx := t.Context()
	limit := backend.Limit{Scope: backend.Scope{Prefix: "a/", Group: "g"}, Running: 10}
	first, second := join(t, b), join(t, b)
	equal(t, "error", b.SetLimit(ctx, limit), nil)
	_, unaware := limited(t, b)
	equal(t, "workers that do not know the limit", unaware, 2)
	demand := func(keep, wants int) backend.Demand {
		return backend.Demand{Scope: limit.Scope, Keep: keep, Wants: wants}
	}
	grant := share(t, b, first, demand(0, 20))
	equal(t, "grant before the second worker knows the limit", grant, backend.Grant{Limit: limit})
	_, unaware = limited(t, b)
	equal(t, "workers that do not know the limit", unaware, 1)
	must(b.Share(ctx, second, must(b.Limited(ctx, backend.Version{}))(t).Version.Newest, nil))(t)
	grant = share(t, b, first, demand(0, 20))
	equal(t, "grant", grant, backend.Grant{Limit: limit, Held: 10, Share: 10})
	grant = share(t, b, second, demand(0, 20))
	equal(t, "permits of the second worker", []int{grant.Held, grant.Share}, []int{0, 5})
	grant = share(t, b, first, demand(10, 20))
	equal(t, "share of the first worker", []int{grant.Held, grant.Share}, []int{10, 5})
	share(t, b, first, demand(6, 20))
	grant = share(t, b, second, demand(0, 20))
	equal(t, "permits that were given back", grant.Held, 4)
	use, unaware := limited(t, b)
	equal(t, "use", []int{use.Held, use.Wants, unaware}, []int{10, 40, 0})

	limit.Running = 3
	equal(t, "error", b.SetLimit(ctx, limit), nil)
	share(t, b, first, demand(6, 20))
	grant = share(t, b, second, demand(1, 20))
	equal(t, "permits while others have more than all", []int{grant.Held, grant.Share}, []int{1, 0})
	must(b.Heartbeat(ctx, first, 0))(t)
	grant = share(t, b, second, demand(1, 20))
	equal(t, "permits after the end of the other lease", []int{grant.Held, grant.Share}, []int{3, 3})
	_, err := b.Share(ctx, first, 1, []backend.Demand{demand(0, 1)})
	fails(t, "Share after the end of the lease", err, backend.ErrLeaseLost)

	other := backend.Demand{Scope: backend.Scope{Group: "g"}, Wants: 3}
	equal(t, "grant without a limit", share(t, b, second, other), backend.Grant{Limit: backend.Limit{Scope: other.Scope}})
	equal(t, "error", b.RemoveLimit(ctx, limit.Scope), nil)
	equal(t, "error", b.SetLimit(ctx, limit), nil)
	use, _ = limited(t, b)
	equal(t, "permits of a removed limit", use.Held, 0)
	third := join(t, b)
	_, unaware = limited(t, b)
	equal(t, "workers that do not know the limit, after one has joined", unaware, 1)
	share(t, b, second, demand(0, 0))
	grant = share(t, b, third, demand(0, 20))
	equal(t, "permits of a worker that has joined", []int{grant.Held, grant.Share}, []int{3, 3})
	must(b.Heartbeat(ctx, third, 0))(t)
	equal(t, "error", b.SetLimit(ctx, limit), nil)
	grant = share(t, b, second, demand(0, 20))
	equal(t, "permits beside an ended worker that does not know the limit", []int{grant.Held, grant.Share}, []int{3, 3})
}

// testTokens draws the tokens of a rate.
func testTokens(t *testing.T, b backend.Backend) {
	equal(t, "error", b.SetLimit(t.Context(), backend.Limit{PerSecond: 0.01, Burst: 5}), nil)
	worker, other := join(t, b), join(t, b)
	grant := share(t, b, worker, backend.Demand{Starts: 2})
	equal(t, "tokens, permits, and share", []int{grant.Tokens.N, grant.Held, grant.Share}, []int{2, 0, backend.MaxRunning})
	if late := time.Since(time.Unix(0, grant.Tokens.Start(1))); late < 0 || late > time.Hour {
		t.Errorf("token of a pause of the limit: late by %v", late)
	}
	equal(t, "tokens of the other worker", share(t, b, other, backend.Demand{Starts: 9}).Tokens.N, 2)
	equal(t, "tokens then, before the last of the burst", share(t, b, worker, backend.Demand{Starts: 9}).Tokens.N, 0)

	equal(t, "error", b.SetLimit(t.Context(), backend.Limit{Scope: backend.Scope{Group: "g"}, PerSecond: 10, Burst: 5}), nil)
	demand := backend.Demand{Scope: backend.Scope{Group: "g"}, Starts: 5}
	equal(t, "tokens of another limit", share(t, b, worker, demand).Tokens.N, 5)
	equal(t, "error", b.SetLimit(t.Context(), backend.Limit{Scope: demand.Scope, PerSecond: 0.01, Burst: 5}), nil)
	equal(t, "tokens after the rate has been lowered", share(t, b, worker, demand).Tokens.N, 0)
}

// testConcurrentShares lets workers share at the same time.
func testConcurrentShares(t *testing.T, b backend.Backend) {
	const running = 7
	var demands []backend.Demand
	for i := range 3 {
		scope := backend.Scope{Group: fmt.Sprint("g", i)}
		equal(t, "error", b.SetLimit(t.Context(), backend.Limit{Scope: scope, Running: running}), nil)
		demands = append(demands, backend.Demand{Scope: scope, Wants: 100})
	}
	newest := must(b.Limited(t.Context(), backend.Version{}))(t).Version.Newest
	var mu sync.Mutex
	held := make(map[backend.Scope]int)
	var all sync.WaitGroup
	for i := range 6 {
		worker := join(t, b)
		all.Go(func() {
			mine := slices.Concat(demands[i%3:], demands[:i%3]) // in another order
			grants, err := b.Share(t.Context(), worker, newest, mine)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			for _, g := range grants {
				held[g.Scope] += g.Held
			}
		})
	}
	all.Wait()
	for scope, n := range held {
		if n != running {
			t.Errorf("%d permits of %v (expected: %d)", n, scope, running)
		}
	}
}
