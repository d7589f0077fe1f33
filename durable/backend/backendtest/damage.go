package backendtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// damaged returns a test that needs a [Damager].
func damaged(test func(t *testing.T, b backend.Backend, d Damager)) func(t *testing.T, b backend.Backend) {
	return func(t *testing.T, b backend.Backend) {
		d, ok := b.(Damager)
		if !ok {
			t.Skip("the backend is no Damager")
		}
		test(t, b, d)
	}
}

// damageSecond stores a row and a dead letter of three keys and a retry of the second key, and damages
// the second key. It returns the row that the retry had before.
func damageSecond(t *testing.T, b backend.Backend, d Damager) (replaced backend.Row) {
	worker := join(t, b)
	for _, key := range []string{"a", "b", "c"} {
		finish(t, b, worker, apply(t, b, set(key, 1)).Row.Ref(), backend.Outcome{Fate: backend.Bury})
		apply(t, b, set(key, 1))
	}
	replaced = retry(t, b, worker, "b")
	d.Damage(t, "b")
	return replaced
}

func testDamagedPages(t *testing.T, b backend.Backend, d Damager) {
	damageSecond(t, b, d)
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
	equal(t, "Cancel", apply(t, b, backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: "b"}}).Err, nil)
	equal(t, "Discard", apply(t, b, backend.Op{Kind: backend.Discard, Row: backend.Row{Key: "b"}, If: letter.Generation}).Err, nil)
}

func testDamagedOperations(t *testing.T, b backend.Backend, d Damager) {
	replaced := damageSecond(t, b, d)
	_, err := b.DeadPage(t.Context(), "b", backend.Ref{}, 9)
	letter, _ := damage(t, err)
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
}

// testDamagedCancel cancels damaged rows: a row that fires, a row that is due, and a waiting retry.
func testDamagedCancel(t *testing.T, b backend.Backend, d Damager) {
	cancel := func(key string) error {
		return apply(t, b, backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: key}}).Err
	}
	worker := join(t, b)
	retry(t, b, worker, "e")
	claim(t, b, worker, "e")
	d.Damage(t, "e")
	equal(t, "Cancel of a row that fires", cancel("e"), backend.ErrFired)
	equal(t, "pending and claimed rows, dead letters", sizes(t, b), []int64{1, 1, 0})
	must(b.Heartbeat(t.Context(), worker, -time.Second))(t)
	equal(t, "Cancel after the lease", cancel("e"), nil)
	equal(t, "pending and claimed rows, dead letters", sizes(t, b), []int64{0, 0, 0})

	apply(t, b, set("f", 1))
	d.Damage(t, "f")
	_, err := b.Lease(t.Context(), backend.LeaseRequest{Worker: join(t, b), Until: 9, Lanes: []backend.Lane{{Max: 9}}})
	ref, _ := damage(t, err)
	equal(t, "damage that Lease reports", ref.Key, "f")
	_, err = b.Page(t.Context(), "f", backend.Cursor{}, 9, false)
	ref, _ = damage(t, err)
	equal(t, "row that is due", ref.Key, "f")
	equal(t, "Cancel of a row that is due", cancel("f"), nil)

	worker = join(t, b)
	retry(t, b, worker, "g")
	finish(t, b, worker, must(b.Get(t.Context(), "g"))(t).Ref(), backend.Outcome{Fate: backend.Done})
	d.Damage(t, "g")
	move := backend.Op{Kind: backend.Move, Row: backend.Row{Key: "g", Due: 1}}
	fails(t, "Move beside a damaged retry", apply(t, b, move).Err, backend.ErrDamaged)
	equal(t, "Cancel of a retry", cancel("g"), nil)
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
