package backendtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

func testDamage(t *testing.T, b backend.Backend) {
	d, ok := b.(Damager)
	if !ok {
		t.Skip("the backend is no Damager")
	}
	worker := join(t, b)
	for _, key := range []string{"a", "b", "c"} {
		finish(t, b, worker, apply(t, b, set(key, 1)).Row.Ref(), backend.Outcome{Fate: backend.Bury})
		apply(t, b, set(key, 1))
	}
	replaced := retry(t, b, worker, "b")
	d.Damage(t, "b")

	var seen []string
	for after, last := (backend.Cursor{}), false; !last; {
		page, err := b.Page(t.Context(), "", after, 2, false)
		for _, r := range page {
			seen = append(seen, r.Key)
			after = backend.Cursor{Key: r.Key, Slot: r.Slot()}
		}
		ref, slot := damage(t, err)
		if last = err == nil && len(page) < 2; err != nil {
			seen = append(seen, fmt.Sprint("damaged ", ref.Key, " in the main slot: ", slot == 0))
			after = backend.Cursor{Key: ref.Key, Slot: slot}
		}
	}
	equal(t, "pages", seen, []string{"a", "damaged b in the main slot: true", "damaged b in the main slot: false", "c"})
	letters, err := b.DeadPage(t.Context(), "", backend.Ref{}, 9)
	letter, _ := damage(t, err)
	equal(t, "damaged letter", letter.Key, "b")
	rest := must(b.DeadPage(t.Context(), "", letter, 9))(t)
	equal(t, "intact letters", len(letters)+len(rest), 2)

	key := backend.Row{Key: "b", Due: 1}
	results := must(b.Apply(t.Context(), []backend.Op{
		set("b", 1), {Kind: backend.Move, Row: key}, {Kind: backend.Cancel, Row: key, If: replaced.Generation},
		{Kind: backend.Requeue, Row: key, If: letter.Generation}, set("d", 1),
		{Kind: backend.Cancel, Row: key}, {Kind: backend.Cancel, Row: key},
		{Kind: backend.Requeue, Row: key, If: letter.Generation},
		{Kind: backend.Discard, Row: key, If: letter.Generation}, {Kind: backend.Discard, Row: key, If: letter.Generation},
	}))(t)
	for i, want := range []error{backend.ErrDamaged, backend.ErrDamaged, backend.ErrDamaged, backend.ErrDamaged, nil,
		nil, backend.ErrNotFound, backend.ErrDamaged, nil, backend.ErrNotFound} {
		fails(t, fmt.Sprint("operation ", i), results[i].Err, want)
	}
	equal(t, "cancelled row", fmt.Sprintf("%+v", results[5].Row), fmt.Sprintf("%+v", backend.Row{Key: "b"}))

	retry(t, b, worker, "e")
	claim(t, b, worker, "e")
	d.Damage(t, "e")
	cancel := backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: "e"}}
	equal(t, "Cancel of a damaged row that fires", apply(t, b, cancel).Err, backend.ErrFired)
	equal(t, "pending and claimed rows, dead letters", sizes(t, b), []int64{4, 1, 2})
	must(b.Heartbeat(t.Context(), worker, -time.Second))(t)
	equal(t, "Cancel after the lease", apply(t, b, cancel).Err, nil)
	equal(t, "pending and claimed rows, dead letters", sizes(t, b), []int64{3, 0, 2})

	apply(t, b, set("f", 1))
	d.Damage(t, "f")
	_, err = b.Lease(t.Context(), backend.LeaseRequest{Worker: join(t, b), Until: 9, Lanes: []backend.Lane{{Max: 9}}})
	ref, _ := damage(t, err)
	equal(t, "damage that Lease reports", ref.Key, "f")
	_, err = b.Page(t.Context(), "f", backend.Cursor{}, 9, false)
	ref, _ = damage(t, err)
	equal(t, "damaged row that is due", ref.Key, "f")
	cancel.Row.Key = "f"
	equal(t, "Cancel of a damaged row that is due", apply(t, b, cancel).Err, nil)

	worker = join(t, b)
	retry(t, b, worker, "g")
	finish(t, b, worker, must(b.Get(t.Context(), "g"))(t).Ref(), backend.Outcome{Fate: backend.Done})
	d.Damage(t, "g")
	key.Key, cancel.Row.Key = "g", "g"
	fails(t, "Move beside a damaged retry", apply(t, b, backend.Op{Kind: backend.Move, Row: key}).Err, backend.ErrDamaged)
	equal(t, "Cancel of a damaged retry", apply(t, b, cancel).Err, nil)
}

// claim claims the row in the main slot of a key.
func claim(t testing.TB, b backend.Backend, worker int64, key string) backend.Row {
	t.Helper()
	r := must(b.Get(t.Context(), key))(t)
	equal(t, "claim", must(b.Claim(t.Context(), worker, []backend.Claim{{Ref: r.Ref()}}))(t), []backend.Answer{backend.Won})
	return r
}

// retry leaves a pending row in the main slot of a key, and the retry of an earlier row
// outside. It returns the retry.
func retry(t testing.TB, b backend.Backend, worker int64, key string) backend.Row {
	t.Helper()
	apply(t, b, set(key, 1))
	r := claim(t, b, worker, key)
	apply(t, b, set(key, 1))
	retried := []backend.Outcome{{Ref: r.Ref(), Fate: backend.Retry, Due: 1}}
	equal(t, "outcome", must(b.Finish(t.Context(), worker, retried))(t), []bool{true})
	return r
}

func sizes(t testing.TB, b backend.Backend) []int64 {
	t.Helper()
	st := must(b.Stats(t.Context(), nil))(t)
	return []int64{st.Pending, st.Claimed, st.Dead}
}

// damage returns the position of the damage that err wraps, and fails the test on other errors.
func damage(t testing.TB, err error) (backend.Ref, uint64) {
	t.Helper()
	var d *backend.Damage
	switch {
	case err == nil:
		return backend.Ref{}, 0
	case !errors.As(err, &d), !errors.Is(err, backend.ErrDamaged):
		t.Fatal(err)
	}
	return d.Ref, d.Slot
}
