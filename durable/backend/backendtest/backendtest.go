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

// Run runs the suite. open returns an empty backend and closes it when the test ends.
func Run(t *testing.T, open func(t testing.TB) backend.Backend) {
	for _, c := range []struct {
		name string
		f    func(t *testing.T, b backend.Backend)
	}{
		{"Model", testModel},
		{"KeysAreBytes", testKeysAreBytes},
		{"FieldsSurvive", testFieldsSurvive},
		{"SchedulesFilterLeases", testSchedulesFilterLeases},
		{"CursorPagesThroughEqualDueTimes", testCursor},
		{"EndedLeaseCannotClaim", testEndedLease},
		{"FreedRowsAreLeasedAgain", testFree},
		{"ClaimedRowsAreAdoptedOnce", testAdopt},
		{"OneClaimWins", testOneClaimWins},
		{"ConcurrentRequeueSucceedsOnce", testRequeueOnce},
		{"EndedContextEndsCalls", testContext},
		{"ClosedBackendReturnsErrClosed", testClosed},
	} {
		t.Run(c.name, func(t *testing.T) { c.f(t, open(t)) })
	}
}

// must fails the test on an error.
func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// apply performs one operation without a transaction.
func apply(t testing.TB, b backend.Backend, op backend.Op) backend.Result {
	t.Helper()
	return must2(t)(b.Apply(t.Context(), nil, []backend.Op{op}))[0]
}

func must2(t testing.TB) func(r []backend.Result, err error) []backend.Result {
	return func(r []backend.Result, err error) []backend.Result {
		t.Helper()
		return must(t, r, err)
	}
}

func set(key string, due int64) backend.Op {
	return backend.Op{Kind: backend.Set, Row: backend.Row{Key: key, Due: due, Attempt: 1, Nonce: rand.Uint64()}}
}

func join(t testing.TB, b backend.Backend) int64 {
	t.Helper()
	id, err := b.Heartbeat(t.Context(), 0, time.Hour)
	return must(t, id, err)
}

// all pages through the pending rows.
func all(t testing.TB, b backend.Backend, prefix string, size int) (rows []backend.Row) {
	t.Helper()
	var after backend.Cursor
	for {
		page, err := b.Page(t.Context(), prefix, after, size)
		rows = append(rows, must(t, page, err)...)
		if len(page) < size {
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
		page, err := b.DeadPage(t.Context(), "", after, 2)
		dead = append(dead, must(t, page, err)...)
		if len(page) < 2 {
			return dead
		}
		after = page[len(page)-1].Ref()
	}
}

// model drives a backend and a Memory with the same random calls.
type model struct {
	t      *testing.T
	b      backend.Backend
	m      *Memory
	rng    *rand.Rand
	worker int64 // of b
	twin   int64 // of m
	refs   []pair
}

// pair is a row's name in both.
type pair struct{ b, m backend.Ref }

// testModel compares results and contents after random operations. Generations differ
// between backends: only their order counts.
func testModel(t *testing.T, b backend.Backend) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	m := &model{t: t, b: b, m: NewMemory(), rng: rand.New(rand.NewPCG(seed, 1))}
	m.worker, m.twin = join(t, b), join(t, m.m)
	steps := 400
	if testing.Short() {
		steps = 150
	}
	for range steps {
		switch m.rng.IntN(5) {
		case 0, 1:
			m.apply()
		case 2:
			m.claim()
		case 3:
			m.finish()
		case 4:
			m.compare()
		}
	}
	m.compare()
}

// due returns a due time with many collisions.
func (m *model) due() int64 {
	return time.Now().Add(time.Hour).Truncate(time.Hour).UnixNano() + m.rng.Int64N(8)
}

func (m *model) key() string { return fmt.Sprintf("k%d", m.rng.IntN(6)) }

func (m *model) row(key string) backend.Row {
	r := backend.Row{Key: key, Due: m.due(), Attempt: 1, Nonce: m.rng.Uint64(), Payload: make([]byte, 1+m.rng.IntN(3)*200)}
	r.Payload[0] = byte(m.rng.IntN(256))
	if m.rng.IntN(3) == 0 {
		r.Every = "every"
	}
	if m.rng.IntN(4) == 0 {
		r.NotAfter = r.Due + m.rng.Int64N(8)
	}
	return r
}

// ref returns the name of a row that was seen, or of none.
func (m *model) ref() pair {
	if len(m.refs) == 0 || m.rng.IntN(10) == 0 {
		return pair{backend.Ref{Key: m.key(), Generation: 1 << 40}, backend.Ref{Key: m.key(), Generation: 1 << 40}}
	}
	recent := m.refs[max(0, len(m.refs)-40):]
	return recent[m.rng.IntN(len(recent))]
}

func (m *model) apply() {
	n := 1 + m.rng.IntN(6)
	ops, twins := make([]backend.Op, n), make([]backend.Op, n)
	for i := range ops {
		op := backend.Op{Kind: backend.Kind(m.rng.IntN(int(backend.Discard) + 1)), Row: m.row(m.key())}
		twin := op
		if op.Kind >= backend.Requeue || m.rng.IntN(3) == 0 {
			ref := m.ref()
			op.If, twin.If = ref.b.Generation, ref.m.Generation
			op.Row.Key, twin.Row.Key = ref.b.Key, ref.b.Key
		}
		ops[i], twins[i] = op, twin
	}
	got := must2(m.t)(m.b.Apply(m.t.Context(), nil, ops))
	want := must2(m.t)(m.m.Apply(m.t.Context(), nil, twins))
	for i := range got {
		if sentinel(got[i].Err) != sentinel(want[i].Err) {
			m.t.Fatalf("operation %+v: %v (expected: %v)", ops[i], got[i].Err, want[i].Err)
		}
		m.same("result of an operation", got[i].Row, want[i].Row)
		if got[i].Err == nil {
			m.refs = append(m.refs, pair{got[i].Row.Ref(), want[i].Row.Ref()})
		}
	}
}

// sentinel returns the error of package backend that err wraps.
func sentinel(err error) error {
	for _, s := range []error{backend.ErrExists, backend.ErrNotFound, backend.ErrFired, backend.ErrConflict, backend.ErrInvalid} {
		if errors.Is(err, s) {
			return s
		}
	}
	return err
}

func (m *model) claim() {
	var claims, twins []backend.Claim
	for range 1 + m.rng.IntN(4) {
		ref := m.ref()
		claim := backend.Claim{Ref: ref.b}
		if row, err := m.m.Get(m.t.Context(), ref.b.Key); err == nil && row.Generation == ref.m.Generation && row.Every != "" {
			next := m.row(ref.b.Key)
			claim.Next, claim.Skip = &next, m.rng.IntN(4) == 0
		}
		twin := claim
		twin.Ref = ref.m
		claims, twins = append(claims, claim), append(twins, twin)
	}
	got, err := m.b.Claim(m.t.Context(), m.worker, claims)
	want, _ := m.m.Claim(m.t.Context(), m.twin, twins)
	equal(m.t, "claims", must(m.t, got, err), want)
	m.learn()
}

func (m *model) finish() {
	var outcomes, twins []backend.Outcome
	for range 1 + m.rng.IntN(4) {
		ref := m.ref()
		outcome := backend.Outcome{Ref: ref.b, Fate: backend.Fate(m.rng.IntN(int(backend.Release) + 1)), Due: m.due(), Error: "failed"}
		twin := outcome
		twin.Ref = ref.m
		outcomes, twins = append(outcomes, outcome), append(twins, twin)
	}
	got, err := m.b.Finish(m.t.Context(), nil, m.worker, outcomes)
	want, _ := m.m.Finish(m.t.Context(), nil, m.twin, twins)
	equal(m.t, "outcomes", must(m.t, got, err), want)
	m.learn()
}

// learn notes the names of the pending rows, which claims and retries renew.
func (m *model) learn() {
	got, want := all(m.t, m.b, "", 100), all(m.t, m.m, "", 100)
	for i := range min(len(got), len(want)) {
		m.refs = append(m.refs, pair{got[i].Ref(), want[i].Ref()})
	}
}

// same compares rows, except for generations, origins, and holders.
func (m *model) same(what string, got, want backend.Row) {
	m.t.Helper()
	for _, r := range []*backend.Row{&got, &want} {
		if (r.Generation == 0) != (r.Origin == 0) {
			m.t.Fatalf("%s: origin of %+v", what, *r)
		}
		if r.Generation < r.Origin {
			m.t.Fatalf("%s: generation of %+v is smaller than its origin", what, *r)
		}
		r.Generation, r.Origin, r.Holder = 0, 0, 0
		r.Payload = slices.Clip(append([]byte{}, r.Payload...))
	}
	equal(m.t, what, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
}

// compare compares the contents of both.
func (m *model) compare() {
	ctx := m.t.Context()
	got, want := all(m.t, m.b, "", 1+m.rng.IntN(4)), all(m.t, m.m, "", 100)
	equal(m.t, "pending rows", len(got), len(want))
	order := func(rows []backend.Row) (order []bool) { // of generations of the same key, R2
		for i := range max(len(rows), 1) - 1 {
			order = append(order, rows[i].Key == rows[i+1].Key && rows[i].Generation < rows[i+1].Generation)
		}
		return order
	}
	for i := range got {
		m.same("pending row", got[i], want[i])
	}
	equal(m.t, "order of generations", order(got), order(want))
	dead, twins := allDead(m.t, m.b), allDead(m.t, m.m)
	equal(m.t, "dead letters", len(dead), len(twins))
	for i := range dead {
		m.same("dead letter", dead[i].Row, twins[i].Row)
		m.refs = append(m.refs, pair{dead[i].Ref(), twins[i].Ref()})
	}
	leased, err := m.b.Lease(ctx, backend.LeaseRequest{Worker: m.worker, Until: m.due() + 3, Max: 1000})
	must(m.t, leased, err)
	if !slices.IsSortedFunc(leased, byDue) {
		m.t.Fatal("leased rows are not in order of due times")
	}
	st, err := m.b.Stats(ctx, []int64{0, m.due() + 8})
	must(m.t, st, err)
	model, _ := m.m.Stats(ctx, []int64{0, m.due() + 8})
	equal(m.t, "sizes", []int64{st.Pending, st.Claimed, st.Dead}, []int64{model.Pending, model.Claimed, model.Dead})
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
		Every: "0 0 0 @every 5m", Schedule: "name\x00", Nonce: 1<<64 - 1,
	}
	for i := range row.Payload {
		row.Payload[i] = byte(i)
	}
	stored := apply(t, b, backend.Op{Kind: backend.Create, Row: row})
	equal(t, "error", stored.Err, nil)
	row.Generation, row.Origin = stored.Row.Generation, stored.Row.Generation
	got, err := b.Get(t.Context(), "k")
	equal(t, "row", must(t, got, err), row)
	worker := join(t, b)
	finish(t, b, worker, row.Ref(), backend.Outcome{Fate: backend.Retry, Due: 7})
	got, err = b.Get(t.Context(), "k")
	must(t, got, err)
	equal(t, "attempt, origin, nonce, due", []any{got.Attempt, got.Origin, got.Nonce, got.Due}, []any{2, row.Origin, row.Nonce, 7})
	finish(t, b, worker, got.Ref(), backend.Outcome{Fate: backend.Bury, Error: "no \x00 luck"})
	dead := allDead(t, b)
	equal(t, "dead letters", len(dead), 1)
	equal(t, "error", dead[0].Error, "no \x00 luck")
	equal(t, "dead row", dead[0].Row, got)
}

// finish claims a row and ends the claim.
func finish(t testing.TB, b backend.Backend, worker int64, ref backend.Ref, o backend.Outcome) {
	t.Helper()
	won, err := b.Claim(t.Context(), worker, []backend.Claim{{Ref: ref}})
	equal(t, "claim", must(t, won, err), []bool{true})
	o.Ref = ref
	applied, err := b.Finish(t.Context(), nil, worker, []backend.Outcome{o})
	equal(t, "outcome", must(t, applied, err), []bool{true})
}

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
				results, err := b.Apply(t.Context(), nil, []backend.Op{{Kind: backend.Cancel, Row: backend.Row{Key: row.Key}}})
				return err == nil && results[0].Err == nil
			}
			won, err := b.Claim(t.Context(), workers[i], []backend.Claim{{Ref: row.Ref()}})
			return err == nil && won[0]
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
		results, err := b.Apply(t.Context(), nil, []backend.Op{op})
		return err == nil && results[0].Err == nil
	}), 1)
	rows := all(t, b, "", 10)
	equal(t, "pending rows", len(rows), 1)
	equal(t, "origin and nonce", []uint64{rows[0].Origin, rows[0].Nonce}, []uint64{dead[0].Origin, dead[0].Nonce})
}

func testContext(t *testing.T, b backend.Backend) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Apply(ctx, nil, []backend.Op{set("k", 1)}); !errors.Is(err, context.Canceled) {
		t.Errorf("Apply with an ended context: %v", err)
	}
	if _, err := b.Page(ctx, "", backend.Cursor{}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Page with an ended context: %v", err)
	}
	equal(t, "rows", len(all(t, b, "", 10)), 0)
}

func testClosed(t *testing.T, b backend.Backend) {
	must(t, 0, b.Close())
	if _, err := b.Apply(t.Context(), nil, []backend.Op{set("k", 1)}); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("Apply after Close: %v", err)
	}
	if _, err := b.Get(t.Context(), "k"); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("Get after Close: %v", err)
	}
}
