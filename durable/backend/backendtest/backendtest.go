// Package backendtest checks that a backend keeps the rules of package backend. It is
// experimental, as that package is.
package backendtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Damager is a backend with rows that the suite can damage.
type Damager interface {
	// Damage changes the due times of all rows and dead letters of a key, behind the back of
	// the backend.
	Damage(t testing.TB, key string)
}

// Run runs the suite. open returns an empty backend and closes it when the test ends. If the
// backend is a [Damager], the suite damages it.
func Run(t *testing.T, open func(t testing.TB) backend.Backend) {
	for _, c := range []struct {
		name string
		f    func(t *testing.T, b backend.Backend)
	}{
		{"Model", testModel},
		{"KeysAreBytes", testKeysAreBytes},
		{"FieldsSurvive", testFieldsSurvive},
		{"SchedulesFilterLeases", testSchedulesFilterLeases},
		{"LanesSeparateKindsAndGroups", testLanes},
		{"LaneOfKindsPassesOverFewOthers", testTogether},
		{"CursorPagesThroughEqualDueTimes", testCursor},
		{"PagesContainClaimedRowsOnRequest", testClaimedPages},
		{"LargePayloadsEndBatches", testLargePayloads},
		{"EndedLeaseCannotClaim", testEndedLease},
		{"FreedRowsAreLeasedAgain", testFree},
		{"ClaimedRowsAreAdoptedOnce", testAdopt},
		{"OnlyTriedSuspectsCountACrash", testTrials},
		{"RowsOfOtherKindsAreNotAdopted", testAdoptKinds},
		{"OneClaimWins", testOneClaimWins},
		{"ClaimedRowMakesClaimsWaitOrSkip", testBusy},
		{"SerialKeysHaveOneClaim", testSerial},
		{"BegunRowMovesAside", testAside},
		{"LateAcknowledgementIsRejected", testLateDone},
		{"PausedRowsStayPending", testPauses},
		{"PausedRowsAreNotAdopted", testPausedCrash},
		{"PausedRowsAreNotOverdue", testPausedStats},
		{"NoClaimFollowsAPause", testPauseIsFinal},
		{"OverdueRowsAreReadByKindAndSchedule", testOverdue},
		{"LimitsHaveVersions", testLimits},
		{"WorkersShareTheirPermits", testPermits},
		{"TokensAreDrawnOnce", testTokens},
		{"ConcurrentSharesKeepTheLimit", testConcurrentShares},
		{"ConcurrentRequeueSucceedsOnce", testRequeueOnce},
		{"DamagedKeysHideNoOthers", damaged(testDamagedPages)},
		{"OperationsReportDamage", damaged(testDamagedOperations)},
		{"DamagedRowsCanBeCancelled", damaged(testDamagedCancel)},
		{"EndedContextEndsCalls", testContext},
		{"ClosedBackendReturnsErrClosed", testClosed},
	} {
		t.Run(c.name, func(t *testing.T) { c.f(t, open(t)) })
	}
}

// must returns a function that returns v, or fails the test on an error.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func fails(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v (expected: %v)", what, err, want)
	}
}

// apply performs one operation without a transaction.
func apply(t testing.TB, b backend.Backend, op backend.Op) backend.Result {
	t.Helper()
	return must(b.Apply(t.Context(), []backend.Op{op}))(t)[0]
}

func set(key string, due int64) backend.Op {
	return backend.Op{Kind: backend.Set, Row: backend.Row{Key: key, Due: due, Attempt: 1, Nonce: rand.Uint64()}}
}

func join(t testing.TB, b backend.Backend) int64 {
	t.Helper()
	return must(b.Heartbeat(t.Context(), 0, time.Hour))(t)
}

// all pages through the pending rows.
func all(t testing.TB, b backend.Backend, prefix string, size int) []backend.Row {
	t.Helper()
	return paged(t, b, prefix, size, false)
}

func paged(t testing.TB, b backend.Backend, prefix string, size int, claimed bool) (rows []backend.Row) {
	t.Helper()
	var after backend.Cursor
	for {
		page := must(b.Page(t.Context(), prefix, after, size, claimed))(t)
		if rows = append(rows, page...); len(page) == 0 {
			return rows
		}
		last := page[len(page)-1]
		after = backend.Cursor{Key: last.Key, Slot: last.Slot()}
	}
}

func allDead(t testing.TB, b backend.Backend) (dead []backend.Dead) {
	t.Helper()
	var after backend.Ref
	for {
		page := must(b.DeadPage(t.Context(), "", after, 2))(t)
		if dead = append(dead, page...); len(page) == 0 {
			return dead
		}
		after = page[len(page)-1].Ref()
	}
}

func testKeysAreBytes(t *testing.T, b backend.Backend) {
	keys := []string{"\x00", "a", "a\x00", "a\x00b", "a\xff", "a\xff\xff", "b", "\xfe\xff", "\xff", "ä"}
	for _, key := range keys {
		equal(t, "error", apply(t, b, set(key, 1)).Err, nil)
	}
	slices.Sort(keys)
	for _, prefix := range []string{"", "a", "a\xff", "\xff", "none", "\xfe"} {
		var got, want []string
		for _, r := range all(t, b, prefix, 3) {
			got = append(got, r.Key)
		}
		for _, key := range keys {
			if len(key) >= len(prefix) && key[:len(prefix)] == prefix {
				want = append(want, key)
			}
		}
		equal(t, fmt.Sprintf("keys with prefix %q", prefix), fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
	}
}

func testFieldsSurvive(t *testing.T, b backend.Backend) {
	row := backend.Row{
		Key: "k", Due: 5, NotAfter: 1 << 62, Payload: make([]byte, 100_000), Attempt: 1,
		Every: "0 0 @every 5m", Schedule: "name\x00", Nonce: 1<<64 - 1,
		Group: "tenant\x00\xff", Headers: string(make([]byte, 8<<10)), Last: "\x00done",
	}
	for i := range row.Payload {
		row.Payload[i] = byte(i)
	}
	stored := apply(t, b, backend.Op{Kind: backend.Create, Row: row})
	equal(t, "error", stored.Err, nil)
	row.Generation, row.Origin = stored.Row.Generation, stored.Row.Generation
	equal(t, "row", must(b.Get(t.Context(), "k"))(t), row)
	worker := join(t, b)
	finish(t, b, worker, row.Ref(), backend.Outcome{Fate: backend.Retry, Due: 7})
	got := must(b.Get(t.Context(), "k"))(t)
	equal(t, "attempt, origin, nonce, due", []any{got.Attempt, got.Origin, got.Nonce, got.Due}, []any{2, row.Origin, row.Nonce, 7})
	equal(t, "group, headers, last outcome", []any{got.Group, got.Headers, got.Last}, []any{row.Group, row.Headers, row.Last})
	finish(t, b, worker, got.Ref(), backend.Outcome{Fate: backend.Bury, Error: "no \x00 luck"})
	dead := allDead(t, b)
	equal(t, "dead letters", len(dead), 1)
	equal(t, "error", dead[0].Error, "no \x00 luck")
	equal(t, "dead row", dead[0].Row, got)
}

// finish claims a row and ends the claim.
func finish(t testing.TB, b backend.Backend, worker int64, ref backend.Ref, o backend.Outcome) {
	t.Helper()
	equal(t, "claim", must(b.Claim(t.Context(), worker, []backend.Claim{{Ref: ref}}))(t), []backend.Answer{backend.Won})
	o.Ref = ref
	equal(t, "outcome", must(b.Finish(t.Context(), worker, []backend.Outcome{o}))(t), []bool{true})
}

// concurrently runs f n times and returns how often it returned true.
func concurrently(n int, f func(i int) bool) (count int) {
	results := make(chan bool)
	for i := range n {
		go func() { results <- f(i) }()
	}
	for range n {
		if <-results {
			count++
		}
	}
	return count
}

func testOneClaimWins(t *testing.T, b backend.Backend) {
	workers := []int64{join(t, b), join(t, b), join(t, b)}
	for i := range 20 {
		row := apply(t, b, set(fmt.Sprint("k", i), 1)).Row
		won := concurrently(len(workers)+1, func(i int) bool {
			if i == len(workers) {
				results, err := b.Apply(t.Context(), []backend.Op{{Kind: backend.Cancel, Row: backend.Row{Key: row.Key}}})
				return err == nil && results[0].Err == nil
			}
			won, err := b.Claim(t.Context(), workers[i], []backend.Claim{{Ref: row.Ref()}})
			return err == nil && won[0] == backend.Won
		})
		equal(t, "claims and cancels that won", won, 1)
	}
}

func testRequeueOnce(t *testing.T, b backend.Backend) {
	worker := join(t, b)
	ref := apply(t, b, set("k", 1)).Row.Ref()
	finish(t, b, worker, ref, backend.Outcome{Fate: backend.Bury, Error: "failed"})
	dead := allDead(t, b)
	op := backend.Op{Kind: backend.Requeue, Row: backend.Row{Key: "k", Due: 1}, If: dead[0].Generation}
	equal(t, "calls that succeeded", concurrently(5, func(int) bool {
		results, err := b.Apply(t.Context(), []backend.Op{op})
		return err == nil && results[0].Err == nil
	}), 1)
	rows := all(t, b, "", 10)
	equal(t, "pending rows", len(rows), 1)
	equal(t, "origin and nonce", []uint64{rows[0].Origin, rows[0].Nonce}, []uint64{dead[0].Origin, dead[0].Nonce})
}

func testClaimedPages(t *testing.T, b backend.Backend) {
	apply(t, b, set("k", 1))
	apply(t, b, set("l", 1))
	claim(t, b, join(t, b), "k")
	rows := paged(t, b, "", 1, true)
	equal(t, "rows", len(rows), 2)
	equal(t, "state", rows[0].State, backend.Claimed)
	pending := all(t, b, "", 1)
	equal(t, "pending rows", len(pending), 1)
	equal(t, "key", pending[0].Key, "l")
}

func testContext(t *testing.T, b backend.Backend) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Apply(ctx, []backend.Op{set("k", 1)})
	fails(t, "Apply with an ended context", err, context.Canceled)
	_, err = b.Page(ctx, "", backend.Cursor{}, 1, false)
	fails(t, "Page with an ended context", err, context.Canceled)
	equal(t, "rows", len(all(t, b, "", 10)), 0)
}

func testClosed(t *testing.T, b backend.Backend) {
	equal(t, "error", b.Close(), nil)
	_, err := b.Apply(t.Context(), []backend.Op{set("k", 1)})
	fails(t, "Apply after Close", err, backend.ErrClosed)
	_, err = b.Get(t.Context(), "k")
	fails(t, "Get after Close", err, backend.ErrClosed)
}
