package backendtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

func testSchedulesFilterLeases(t *testing.T, b backend.Backend) {
	for i, name := range []string{"", "a", "b", "c"} {
		op := set(fmt.Sprint("k", i), int64(i+1))
		op.Row.Every, op.Row.Schedule = "every", name
		apply(t, b, op)
	}
	worker := join(t, b)
	for _, c := range []struct {
		known []string
		want  string
	}{{nil, "[k0]"}, {[]string{"a"}, "[k0 k1]"}, {[]string{"c", "b"}, "[k0 k2 k3]"}} {
		fresh := worker
		if c.known != nil {
			fresh = join(t, b) // backends may mark leased rows
		}
		req := backend.LeaseRequest{Worker: fresh, Until: 10, Schedules: c.known}
		equal(t, "leased", leased(t, b, req), c.want)
		must(b.Heartbeat(t.Context(), fresh, 0))(t)
	}
}

// leased returns the keys of the rows that Lease returns in one lane of all rows.
func leased(t testing.TB, b backend.Backend, req backend.LeaseRequest) []string {
	t.Helper()
	return keys(lease(t, b, req))
}

// lease returns the rows that Lease returns in one lane of all rows.
func lease(t testing.TB, b backend.Backend, req backend.LeaseRequest) []backend.Row {
	t.Helper()
	req.Lanes = []backend.Lane{{Max: 1000}}
	lanes := must(b.Lease(t.Context(), req))(t)
	equal(t, "lanes", len(lanes), 1)
	return lanes[0].Rows
}

func keys(rows []backend.Row) (keys []string) {
	for _, r := range rows {
		keys = append(keys, r.Key)
	}
	return keys
}

func testCursor(t *testing.T, b backend.Backend) {
	var ops []backend.Op
	for i := range 25 {
		ops = append(ops, set(fmt.Sprintf("k/%02d", i), farDue+int64(i/10)))
	}
	must(b.Apply(t.Context(), ops))(t)
	equal(t, "error", b.PrepareKinds(t.Context()), nil)
	group := ""
	for _, lane := range []backend.Lane{{Max: 3}, {Kind: "k/", Max: 3}, {Without: []string{"g"}, Max: 3}, {Kind: "k/", Group: &group, Max: 3}, {Without: []string{""}, Max: 3}} {
		worker := join(t, b) // backends may mark leased rows
		seen := 0
		for more := true; more; {
			some := must(b.Lease(t.Context(), backend.LeaseRequest{Worker: worker, Until: farDue + 1, Lanes: []backend.Lane{lane}}))(t)[0]
			for _, r := range some.Rows {
				equal(t, "key", r.Key, fmt.Sprintf("k/%02d", seen))
				seen++
			}
			equal(t, "full", some.More, len(some.Rows) == 3)
			lane.After, more = some.Reached, some.More
		}
		want := 20
		if slices.Contains(lane.Without, "") {
			want = 0
		}
		equal(t, fmt.Sprintf("rows of %+v", lane), seen, want)
		must(b.Heartbeat(t.Context(), worker, 0))(t)
	}
}

// testLargePayloads expects pages and batches to end at BatchBytes.
func testLargePayloads(t *testing.T, b backend.Backend) {
	large := make([]byte, b.Limits().MaxPayload)
	most := backend.BatchBytes / len(large)
	store := func() {
		for i := range most + 2 {
			op := set(fmt.Sprint("k", i), 1)
			op.Row.Payload = large
			apply(t, b, op)
		}
	}
	store()
	worker := join(t, b)
	equal(t, "page", len(must(b.Page(t.Context(), "", backend.Cursor{}, most+2, false))(t)), most)
	equal(t, "pages", len(all(t, b, "", most)), most+2)
	for i := range most + 2 {
		ref := must(b.Get(t.Context(), fmt.Sprint("k", i)))(t).Ref()
		finish(t, b, worker, ref, backend.Outcome{Fate: backend.Bury})
	}
	equal(t, "dead letters", len(must(b.DeadPage(t.Context(), "", backend.Ref{}, most+2))(t)), most)
	store()
	equal(t, "leased", len(must(b.Lease(t.Context(), backend.LeaseRequest{Worker: worker, Until: 2, Lanes: []backend.Lane{{Max: most + 2}}}))(t)[0].Rows), most)
}

func testEndedLease(t *testing.T, b backend.Backend) {
	ref := apply(t, b, set("k", 1)).Row.Ref()
	worker := must(b.Heartbeat(t.Context(), 0, time.Millisecond))(t)
	time.Sleep(20 * time.Millisecond)
	_, err := b.Heartbeat(t.Context(), worker, time.Hour)
	fails(t, "Heartbeat after the lease", err, backend.ErrLeaseLost)
	_, err = b.Lease(t.Context(), backend.LeaseRequest{Worker: worker, Until: 9, Lanes: []backend.Lane{{Max: 9}}})
	fails(t, "Lease after the lease", err, backend.ErrLeaseLost)
	_, err = b.Claim(t.Context(), worker, []backend.Claim{{Ref: ref}})
	fails(t, "Claim after the lease", err, backend.ErrLeaseLost)
	_, err = b.Adopt(t.Context(), worker, nil, 9)
	fails(t, "Adopt after the lease", err, backend.ErrLeaseLost)
}

func testFree(t *testing.T, b backend.Backend) {
	due := time.Now().Add(time.Hour).UnixNano()
	claimed := apply(t, b, set("claimed", due)).Row
	apply(t, b, set("leased", due))
	ending, other := join(t, b), join(t, b)
	equal(t, "leased", leased(t, b, backend.LeaseRequest{Worker: ending, Until: due}), "[claimed leased]")
	claim(t, b, ending, "claimed")
	equal(t, "error", b.Free(t.Context(), ending), nil)
	equal(t, "leased after Free", leased(t, b, backend.LeaseRequest{Worker: other, Until: due}), "[leased]")
	retried := []backend.Outcome{{Ref: claimed.Ref(), Fate: backend.Retry, Due: due}}
	equal(t, "outcome of the claimed row", must(b.Finish(t.Context(), ending, retried))(t), []bool{true})
}

func testAdopt(t *testing.T, b backend.Backend) {
	ctx := t.Context()
	dying, heir, other := join(t, b), join(t, b), join(t, b)
	var claims []backend.Claim
	for i := range 5 {
		claims = append(claims, backend.Claim{Ref: apply(t, b, set(fmt.Sprint("k", i), 1)).Row.Ref()})
	}
	must(b.Claim(ctx, dying, claims))(t)
	equal(t, "adopted from the living", len(must(b.Adopt(ctx, heir, nil, 9))(t)), 0)
	must(b.Heartbeat(ctx, dying, 0))(t)
	equal(t, "cancel of a claimed row", apply(t, b, backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: "k0"}}).Err, backend.ErrFired)
	var adopted []backend.Row
	for i, worker := range []int64{heir, other, heir, other} {
		rows := must(b.Adopt(ctx, worker, nil, 2))(t)
		for _, r := range rows {
			equal(t, "state, holder, crashes", []any{r.State, r.Holder, r.Crashes}, []any{backend.Claimed, worker, 1})
		}
		equal(t, "adopted", len(rows), []int{2, 2, 1, 0}[i])
		adopted = append(adopted, rows...)
	}
	equal(t, "stored crashes", must(b.Get(ctx, adopted[0].Key))(t).Crashes, 1)
	outcome := backend.Outcome{Ref: adopted[0].Ref(), Fate: backend.Retry, Due: 3}
	equal(t, "outcome of the old holder", must(b.Finish(ctx, dying, []backend.Outcome{outcome}))(t), []bool{false})
	outcome.Fate = backend.Done
	equal(t, "acknowledgement before the trial", must(b.Finish(ctx, dying, []backend.Outcome{outcome}))(t), []bool{true})
}

// testLateDone acknowledges rows after the end of the lease, with small payloads and large ones. The handler of the
// worker that has adopted a row may run: the next row of the key waits for it.
func testLateDone(t *testing.T, b backend.Backend) {
	for i, size := range []int{1, 1000} {
		stalled, heir := join(t, b), join(t, b)
		key := fmt.Sprint("k", i)
		store := func() backend.Ref {
			op := set(key, farDue)
			op.Row.Payload = make([]byte, size)
			return apply(t, b, op).Row.Ref()
		}
		done := func(worker int64, want bool, refs ...backend.Ref) {
			t.Helper()
			for _, ref := range refs {
				equal(t, "acknowledgement", must(b.Finish(t.Context(), worker, []backend.Outcome{{Ref: ref}}))(t), []bool{want})
			}
		}
		first := store()
		claim(t, b, stalled, key)
		must(b.Heartbeat(t.Context(), stalled, 0))(t)
		equal(t, "adopted", len(must(b.Adopt(t.Context(), heir, nil, 9))(t)), 1)
		again := []backend.Claim{{Ref: first, Again: true}}
		equal(t, "trial", must(b.Claim(t.Context(), heir, again))(t), []backend.Answer{backend.Won})
		done(stalled, false, first)
		equal(t, "holder", must(b.Get(t.Context(), key))(t).Holder, heir)
		next := store() // detaches the first row
		done(stalled, false, first, backend.Ref{Key: key, Generation: 1 << 40})
		waits := []backend.Claim{{Ref: next, Busy: backend.Wait}}
		equal(t, "claim of the next row", must(b.Claim(t.Context(), heir, waits))(t), []backend.Answer{backend.Waits})
		done(heir, true, first)
		equal(t, "claim after that", must(b.Claim(t.Context(), heir, waits))(t), []backend.Answer{backend.Won})
		must(b.Heartbeat(t.Context(), heir, 0))(t)
		done(heir, true, next)    // no other worker has adopted it
		done(heir, true, store()) // as if the database had lost the claim
		equal(t, "pending and claimed rows", sizes(t, b)[:2], []int64{0, 0})
	}
}
