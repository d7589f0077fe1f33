package backendtest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/hashedwheel/hwt/durable/backend"
)

// testBusy claims rows of a key of which another row is claimed.
func testBusy(t *testing.T, b backend.Backend) {
	ctx := t.Context()
	worker, other := join(t, b), join(t, b)
	answers := func(claims ...backend.Claim) []backend.Answer { return must(b.Claim(ctx, worker, claims))(t) }
	first := apply(t, b, set("k", farDue)).Row
	equal(t, "first row", must(b.Claim(ctx, other, []backend.Claim{{Ref: first.Ref(), Busy: backend.Wait}}))(t), []backend.Answer{backend.Won})
	second := apply(t, b, set("k", farDue)).Row
	equal(t, "busy", answers(backend.Claim{Ref: second.Ref(), Busy: backend.Wait}), []backend.Answer{backend.Waits})
	equal(t, "row that waits", must(b.Get(ctx, "k"))(t).State, backend.Pending)
	next := set("k", farDue+1).Row
	equal(t, "skipped", answers(backend.Claim{Ref: second.Ref(), Busy: backend.Skip, Next: &next}), []backend.Answer{backend.Skipped})
	third := must(b.Get(ctx, "k"))(t)
	equal(t, "due time of the next row", third.Due, next.Due)
	equal(t, "deleted", answers(backend.Claim{Ref: third.Ref(), Busy: backend.Skip}), []backend.Answer{backend.Skipped})
	_, err := b.Get(ctx, "k")
	fails(t, "Get of the skipped row", err, backend.ErrNotFound)

	retried := []backend.Outcome{{Ref: first.Ref(), Fate: backend.Retry, Due: farDue}}
	equal(t, "retry", must(b.Finish(ctx, other, retried))(t), []bool{true})
	fourth := apply(t, b, set("k", farDue)).Row
	retry := slices.DeleteFunc(all(t, b, "k", 9), func(r backend.Row) bool { return !r.Detached })[0]
	equal(t, "beside a waiting retry, and both", answers(backend.Claim{Ref: fourth.Ref(), Busy: backend.Wait}, backend.Claim{Ref: retry.Ref(), Busy: backend.Wait}),
		[]backend.Answer{backend.Won, backend.Waits})
	equal(t, "regardless", answers(backend.Claim{Ref: retry.Ref()}), []backend.Answer{backend.Won})
	equal(t, "other key", answers(backend.Claim{Ref: apply(t, b, set("k2", farDue)).Row.Ref(), Busy: backend.Wait}), []backend.Answer{backend.Won})
}

// testSerial claims two rows of each key by two workers at the same time.
func testSerial(t *testing.T, b backend.Backend) {
	workers := []int64{join(t, b), join(t, b)}
	for i := range 20 {
		key := fmt.Sprint("k", i)
		retry(t, b, workers[0], key)
		rows := all(t, b, key, 9)
		answers := make([]backend.Answer, 2)
		var claims sync.WaitGroup
		for n := range answers {
			claims.Go(func() {
				won, err := b.Claim(t.Context(), workers[n], []backend.Claim{{Ref: rows[n].Ref(), Busy: backend.Wait}})
				if err == nil {
					answers[n] = won[0]
				}
			})
		}
		claims.Wait()
		if answers[0] == backend.Won && answers[1] == backend.Won || slices.Contains(answers, backend.Overtaken) {
			t.Fatalf("answers: %v (expected: at most one row is claimed)", answers)
		}
	}
}
