package backendtest

import (
	"errors"
	"fmt"
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
		rows, err := b.Lease(t.Context(), backend.LeaseRequest{Worker: fresh, Until: 10, Max: 10, Schedules: c.known})
		var keys []string
		for _, r := range must(t, rows, err) {
			keys = append(keys, r.Key)
		}
		equal(t, "leased", keys, c.want)
		_, err = b.Heartbeat(t.Context(), fresh, 0)
		must(t, 0, err)
	}
}

func testCursor(t *testing.T, b backend.Backend) {
	var ops []backend.Op
	for i := range 25 {
		ops = append(ops, set(fmt.Sprintf("k%02d", i), int64(1+i/10)))
	}
	must2(t)(b.Apply(t.Context(), nil, ops))
	worker := join(t, b)
	var after backend.Cursor
	seen := 0
	for {
		rows, err := b.Lease(t.Context(), backend.LeaseRequest{Worker: worker, After: after, Until: 2, Max: 3})
		for _, r := range must(t, rows, err) {
			equal(t, "key", r.Key, fmt.Sprintf("k%02d", seen))
			seen++
			after = backend.Cursor{Due: r.Due, Key: r.Key, Slot: r.Slot()}
		}
		if len(rows) < 3 {
			break
		}
	}
	equal(t, "rows", seen, 20)
}

func testEndedLease(t *testing.T, b backend.Backend) {
	ref := apply(t, b, set("k", 1)).Row.Ref()
	worker, err := b.Heartbeat(t.Context(), 0, time.Millisecond)
	must(t, worker, err)
	time.Sleep(20 * time.Millisecond)
	for name, f := range map[string]func() error{
		"Heartbeat": func() error { _, err := b.Heartbeat(t.Context(), worker, time.Hour); return err },
		"Lease": func() error {
			_, err := b.Lease(t.Context(), backend.LeaseRequest{Worker: worker, Until: 9, Max: 9})
			return err
		},
		"Claim": func() error {
			_, err := b.Claim(t.Context(), worker, []backend.Claim{{Ref: ref}})
			return err
		},
		"Adopt": func() error { _, err := b.Adopt(t.Context(), worker, 9); return err },
	} {
		if err := f(); !errors.Is(err, backend.ErrLeaseLost) {
			t.Errorf("%s after the end of the lease: %v", name, err)
		}
	}
}

func testFree(t *testing.T, b backend.Backend) {
	due := time.Now().Add(time.Hour).UnixNano()
	claimed := apply(t, b, set("claimed", due)).Row
	apply(t, b, set("leased", due))
	ending, other := join(t, b), join(t, b)
	lease := func(worker int64) (keys []string) {
		rows, err := b.Lease(t.Context(), backend.LeaseRequest{Worker: worker, Until: due, Max: 9})
		for _, r := range must(t, rows, err) {
			keys = append(keys, r.Key)
		}
		return keys
	}
	equal(t, "leased", lease(ending), "[claimed leased]")
	won, err := b.Claim(t.Context(), ending, []backend.Claim{{Ref: claimed.Ref()}})
	equal(t, "claim", must(t, won, err), []bool{true})
	must(t, 0, b.Free(t.Context(), ending))
	equal(t, "leased after Free", lease(other), "[leased]")
	applied, err := b.Finish(t.Context(), nil, ending, []backend.Outcome{{Ref: claimed.Ref(), Fate: backend.Retry, Due: due}})
	equal(t, "outcome of the claimed row", must(t, applied, err), []bool{true})
}

func testAdopt(t *testing.T, b backend.Backend) {
	ctx := t.Context()
	dying, heir, other := join(t, b), join(t, b), join(t, b)
	var claims []backend.Claim
	for i := range 5 {
		claims = append(claims, backend.Claim{Ref: apply(t, b, set(fmt.Sprint("k", i), 1)).Row.Ref()})
	}
	won, err := b.Claim(ctx, dying, claims)
	must(t, won, err)
	rows, err := b.Adopt(ctx, heir, 9)
	equal(t, "adopted from the living", len(must(t, rows, err)), 0)
	_, err = b.Heartbeat(ctx, dying, 0)
	must(t, 0, err)
	equal(t, "cancel of a claimed row", apply(t, b, backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: "k0"}}).Err, backend.ErrFired)
	var adopted []backend.Row
	for i, worker := range []int64{heir, other, heir, other} {
		rows, err := b.Adopt(ctx, worker, 2)
		for _, r := range must(t, rows, err) {
			equal(t, "state and holder", []any{r.State, r.Holder}, []any{backend.Claimed, worker})
		}
		equal(t, "adopted", len(rows), []int{2, 2, 1, 0}[i])
		adopted = append(adopted, rows...)
	}
	applied, err := b.Finish(ctx, nil, dying, []backend.Outcome{{Ref: adopted[0].Ref(), Fate: backend.Retry, Due: 3}})
	equal(t, "outcome of the old holder", must(t, applied, err), []bool{false})
	applied, err = b.Finish(ctx, nil, dying, []backend.Outcome{{Ref: adopted[0].Ref(), Fate: backend.Done}})
	equal(t, "acknowledgement of the old holder", must(t, applied, err), []bool{true})
}
