package backendtest

import (
	"fmt"
	"testing"

	"github.com/hashedwheel/hwt/durable/backend"
)

// testTrials tries some of the rows that a worker has adopted, and ends workers.
func testTrials(t *testing.T, b backend.Backend) {
	ctx := t.Context()
	refs := make([]backend.Ref, 3)
	var claims []backend.Claim
	for i := range refs {
		op := set(fmt.Sprint("k", i), int64(i+1))
		if i == 2 {
			op.Row.Every, op.Row.Group, op.Row.Payload = "every", "g", make([]byte, 1000)
		}
		refs[i] = apply(t, b, op).Row.Ref()
		claims = append(claims, backend.Claim{Ref: refs[i]})
	}
	claim := func(worker int64, claims ...backend.Claim) []backend.Answer {
		t.Helper()
		return must(b.Claim(ctx, worker, claims))(t)
	}
	again := func(i int) backend.Claim { return backend.Claim{Ref: refs[i], Again: true} }
	// adopt ends a worker, and returns its heir, which expects crashes of the rows.
	adopt := func(dying int64, want ...int) (heir int64) {
		t.Helper()
		must(b.Heartbeat(ctx, dying, 0))(t)
		heir = join(t, b)
		crashes := make([]int, len(refs))
		for _, r := range must(b.Adopt(ctx, heir, nil, 9))(t) {
			crashes[r.Key[1]-'0'] = r.Crashes
			equal(t, "state, holder, and whether tried", []any{r.State, r.Holder, r.Tried}, []any{backend.Claimed, heir, false})
		}
		equal(t, "crashes", crashes, want)
		return heir
	}
	first := join(t, b)
	equal(t, "claims", claim(first, claims...), []backend.Answer{backend.Won, backend.Won, backend.Won})
	equal(t, "claim again", claim(first, again(0)), []backend.Answer{backend.Won})
	equal(t, "whether tried before a crash", must(b.Get(ctx, "k0"))(t).Tried, false)
	worker := adopt(first, 1, 1, 1)
	equal(t, "claims of rows that are claimed", claim(worker, claims...), []backend.Answer{backend.Overtaken, backend.Overtaken, backend.Overtaken})
	equal(t, "claim of the old holder", claim(join(t, b), again(0)), []backend.Answer{backend.Overtaken})
	equal(t, "pause", b.Pause(ctx, backend.Pause{}), nil)
	equal(t, "trials of claimed rows in a pause", claim(worker, again(0), again(2)), []backend.Answer{backend.Won, backend.Won})
	equal(t, "repetition of one", claim(worker, again(2)), []backend.Answer{backend.Won})
	equal(t, "resume", b.Resume(ctx, backend.Scope{}), nil)
	equal(t, "whether tried", []bool{must(b.Get(ctx, "k0"))(t).Tried, must(b.Get(ctx, "k1"))(t).Tried}, []bool{true, false})
	worker = adopt(worker, 2, 1, 2)
	worker = adopt(worker, 2, 1, 2)

	equal(t, "trial", claim(worker, again(0)), []backend.Answer{backend.Won})
	equal(t, "outcome", must(b.Finish(ctx, worker, []backend.Outcome{{Ref: refs[0], Fate: backend.Release}, {Ref: refs[1], Fate: backend.Release}}))(t), []bool{true, true})
	equal(t, "state after Release", must(b.Get(ctx, "k0"))(t).State, backend.Claimed)
	equal(t, "cancel after Release", apply(t, b, backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: "k0"}}).Err, backend.ErrFired)
	worker = adopt(worker, 2, 1, 2)
	equal(t, "trial", claim(worker, again(0), again(1)), []backend.Answer{backend.Won, backend.Won})
	equal(t, "outcome", must(b.Finish(ctx, worker, []backend.Outcome{{Ref: refs[0], Fate: backend.Retry, Due: farDue}, {Ref: refs[1], Fate: backend.Done}}))(t), []bool{true, true})
	retried := must(b.Get(ctx, "k0"))(t)
	equal(t, "retry", []any{retried.State, retried.Crashes, retried.Tried}, []any{backend.Pending, 0, false})
	equal(t, "trials of a retry, and of no row", claim(worker, backend.Claim{Ref: retried.Ref(), Again: true}, again(1)), []backend.Answer{backend.Overtaken, backend.Overtaken})
	worker = adopt(worker, 0, 0, 2)
	equal(t, "outcome", must(b.Finish(ctx, worker, []backend.Outcome{{Ref: refs[2], Fate: backend.Bury}}))(t), []bool{true})
	letter := allDead(t, b)[0]
	equal(t, "crashes of the dead letter", letter.Crashes, 2)
	equal(t, "crashes after Requeue", apply(t, b, backend.Op{Kind: backend.Requeue, Row: backend.Row{Key: "k2", Due: farDue}, If: letter.Generation}).Row.Crashes, 0)
}

// testAdoptKinds adopts rows of some kinds.
func testAdoptKinds(t *testing.T, b backend.Backend) {
	ctx := t.Context()
	dying, heir := join(t, b), join(t, b)
	for i, key := range []string{"a/1", "b/1", "plain", "a/b/2"} {
		apply(t, b, set(key, int64(i+1)))
		claim(t, b, dying, key)
	}
	must(b.Heartbeat(ctx, dying, 0))(t)
	adopted := func(kinds ...string) (found string) {
		t.Helper()
		for _, r := range must(b.Adopt(ctx, heir, kinds, 9))(t) {
			found += r.Key + " "
		}
		return found
	}
	equal(t, "other kinds", adopted("c/", "pla"), "")
	equal(t, "crashes of a row that stays", must(b.Get(ctx, "a/1"))(t).Crashes, 0)
	equal(t, "adopted", len(adopted("a/", "c/")), len("a/1 a/b/2 "))
	equal(t, "one kind", adopted("b/"), "b/1 ")
	equal(t, "adopted without kinds", adopted(), "plain ")
}
