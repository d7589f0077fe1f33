package backendtest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
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

// testAside sets a key over the last occurrence of a series, which has begun, and checks its payload, which has a place of its own.
func testAside(t *testing.T, b backend.Backend) {
	ctx, worker := t.Context(), join(t, b)
	op := set("k", farDue)
	op.Row.Every, op.Row.Payload = "every", bytes.Repeat([]byte("old"), 1000)
	last := apply(t, b, op).Row
	claim(t, b, worker, "k")
	equal(t, "released", must(b.Finish(ctx, worker, []backend.Outcome{{Ref: last.Ref(), Fate: backend.Release}}))(t), []bool{true})
	op.Row.Payload = bytes.Repeat([]byte("new"), 1000)
	series := apply(t, b, op).Row
	rows := all(t, b, "", 9)
	equal(t, "rows", []backend.Ref{rows[0].Ref(), rows[1].Ref()}, []backend.Ref{series.Ref(), last.Ref()})
	equal(t, "detached", []bool{rows[0].Detached, rows[1].Detached, rows[1].Begun()}, []bool{false, true, true})
	equal(t, "payloads", []string{string(rows[0].Payload), string(rows[1].Payload)}, []string{string(op.Row.Payload), strings.Repeat("old", 1000)})
	equal(t, "pending", must(b.Stats(ctx, nil))(t).Pending, 2)
	equal(t, "claim", must(b.Claim(ctx, worker, []backend.Claim{{Ref: last.Ref()}}))(t), []backend.Answer{backend.Won})
	equal(t, "done", must(b.Finish(ctx, worker, []backend.Outcome{{Ref: last.Ref(), Fate: backend.Done}}))(t), []bool{true})
	equal(t, "the series", must(b.Get(ctx, "k"))(t).Ref(), series.Ref())
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
