package backendtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

// testLanes leases rows of kinds and groups, and compares them with the rows that a memdb.DB returns. Each
// lease is by a new worker: backends may mark leased rows.
func testLanes(t *testing.T, b backend.Backend) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	m := memdb.New()
	equal(t, "error", b.PrepareKinds(t.Context()), nil)
	equal(t, "error of the second call", b.PrepareKinds(t.Context()), nil)
	kinds, groups := []string{"", "a/", "a\x00/", "b/", "/"}, []string{"", "g", "h", "h\x00"}
	var ops []backend.Op
	for i := range 60 {
		op := set(fmt.Sprint(kinds[rng.IntN(5)], "k", i, []string{"", "/", "/x"}[rng.IntN(3)]), farDue+int64(i))
		op.Row.Group = groups[rng.IntN(4)]
		ops = append(ops, op)
	}
	must(b.Apply(t.Context(), ops))(t)
	must(m.Apply(t.Context(), ops))(t)
	for range 20 {
		var lanes []backend.Lane // of different kinds, or of different groups
		for i := range 1 + rng.IntN(4) {
			lanes = append(lanes, backend.Lane{Max: 1 + rng.IntN(9)})
			if kind := kinds[1:]; rng.IntN(3) > 0 {
				lanes[i].Kind = kind[i]
			}
		}
		if split(rng, lanes, groups); b.Limits().Together > 0 && rng.IntN(3) == 0 {
			lanes = []backend.Lane{{Kinds: kinds[1 : 2+rng.IntN(4)], Max: 1 + rng.IntN(30)}}
		}
		got, want := leaseLanes(t, b, lanes), leaseLanes(t, m, lanes)
		equal(t, fmt.Sprintf("rows of lanes %+v", lanes), fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
	}
}

// testTogether expects a lane of several kinds to pass over a bounded number of other rows per call.
func testTogether(t *testing.T, b backend.Backend) {
	if b.Limits().Together == 0 {
		t.Skip("the backend takes no lane of several kinds")
	}
	worker := join(t, b)
	lane := backend.Lane{Kinds: []string{"a/", "b/"}, Max: 3}
	look := func() backend.Leased {
		t.Helper()
		some := must(b.Lease(t.Context(), backend.LeaseRequest{Worker: worker, Until: farDue + 50, Lanes: []backend.Lane{lane}}))(t)[0]
		lane.After = some.Reached
		return some
	}
	var ops []backend.Op
	for i := range backend.TogetherLimit {
		op := set(fmt.Sprintf("%s/%04d", []string{"a", "ab", "other"}[i%3], i), farDue)
		if i%3 == 0 { // a row that the worker leaves to others
			op.Row.Every, op.Row.Schedule = "every", "unknown"
		}
		ops = append(ops, op)
	}
	for _, key := range []string{"b/1", "a/1", "c/1", "b/2", "b/3", "plain", "a/2"} {
		ops = append(ops, set(key, farDue+int64(len(ops))-backend.TogetherLimit+1))
	}
	for part := range slices.Chunk(ops, b.Limits().MaxBatch) {
		must(b.Apply(t.Context(), part))(t)
	}
	for _, want := range []string{"[] true true", "[b/1 a/1 b/2] true false", "[b/3 a/2] false false", "[] false false"} {
		some := look()
		equal(t, "rows, More, and Apart", fmt.Sprint(keys(some.Rows), some.More, some.Apart), want)
	}
}

// farDue is a due time so far ahead that Lease claims no row.
const farDue = 1 << 62

// split makes lanes disjoint: with one lane of all kinds, each lane gets one group or the rest.
func split(rng *rand.Rand, lanes []backend.Lane, groups []string) {
	mixed := false
	for _, lane := range lanes {
		mixed = mixed || lane.Kind == ""
	}
	for i := range lanes {
		switch {
		case mixed && i > 0:
			lanes[i].Group = &groups[i]
		case mixed:
			lanes[0].Without = groups[1:]
		case rng.IntN(2) == 0:
			lanes[i].Without = groups[:rng.IntN(5)]
		case rng.IntN(2) == 0:
			lanes[i].Group = &groups[rng.IntN(4)]
		}
	}
}

// leaseLanes returns the keys of leased rows.
func leaseLanes(t testing.TB, b backend.Backend, lanes []backend.Lane) (all [][]string) {
	t.Helper()
	worker := join(t, b)
	for _, lane := range must(b.Lease(t.Context(), backend.LeaseRequest{Worker: worker, Until: farDue + 50, Lanes: lanes}))(t) {
		all = append(all, keys(lane.Rows))
	}
	must(b.Heartbeat(t.Context(), worker, 0))(t)
	return all
}
