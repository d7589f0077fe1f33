package backendtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

// model drives a backend and a memdb.DB with the same random calls.
type model struct {
	t      *testing.T
	b      backend.Backend
	m      *memdb.DB
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
	m := &model{t: t, b: b, m: memdb.New(), rng: rand.New(rand.NewPCG(seed, 1))}
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

// due returns a due time with many collisions, an hour ahead or more: Lease may claim overdue rows.
func (m *model) due() int64 {
	return time.Now().Add(2*time.Hour).Truncate(time.Hour).UnixNano() + m.rng.Int64N(8)
}

func (m *model) key() string { return fmt.Sprintf("k%d", m.rng.IntN(6)) }

func (m *model) row(key string) backend.Row {
	r := backend.Row{Key: key, Due: m.due(), Attempt: 1, Nonce: m.rng.Uint64(), Payload: make([]byte, 1+m.rng.IntN(3)*200)}
	r.Payload[0] = byte(m.rng.IntN(256))
	if m.rng.IntN(3) == 0 {
		r.Every = "every"
	} else if m.rng.IntN(4) == 0 {
		r.NotAfter = r.Due + m.rng.Int64N(8)
	}
	if m.rng.IntN(4) == 0 {
		r.Group, r.Headers, r.Last = fmt.Sprint("g", m.rng.IntN(3)), "headers", "last"
	}
	return r
}

// ref returns the name of a row that was seen, or the name of no row.
func (m *model) ref() pair {
	if len(m.refs) == 0 || m.rng.IntN(10) == 0 {
		none := backend.Ref{Key: m.key(), Generation: 1 << 40}
		return pair{none, none}
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
	got := must(m.b.Apply(m.t.Context(), ops))(m.t)
	want := must(m.m.Apply(m.t.Context(), twins))(m.t)
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
			claim.Skip, claim.Due = m.rng.IntN(4) == 0, m.rng.Int64N(2)*m.due()
			if m.rng.IntN(3) > 0 { // otherwise, it is the last one of its series
				claim.Next = &next
			}
		}
		claim.Busy = backend.Busy(m.rng.IntN(3))
		twin := claim
		twin.Ref = ref.m
		claims, twins = append(claims, claim), append(twins, twin)
	}
	want, _ := m.m.Claim(m.t.Context(), m.twin, twins)
	equal(m.t, "claims", must(m.b.Claim(m.t.Context(), m.worker, claims))(m.t), want)
	m.learn()
}

func (m *model) finish() {
	var outcomes, twins []backend.Outcome
	for range 1 + m.rng.IntN(4) {
		ref := m.ref()
		outcome := backend.Outcome{Ref: ref.b, Fate: backend.Fate(m.rng.IntN(int(backend.Release) + 1)), Due: m.due(), Error: "failed"}
		if m.rng.IntN(2) == 0 {
			outcome.Last, outcome.Every, outcome.InTx = fmt.Sprint("run ", m.rng.IntN(9)), "every", m.rng.IntN(4) == 0
		}
		twin := outcome
		twin.Ref = ref.m
		outcomes, twins = append(outcomes, outcome), append(twins, twin)
	}
	want, _ := m.m.Finish(m.t.Context(), m.twin, twins)
	equal(m.t, "outcomes", must(m.b.Finish(m.t.Context(), m.worker, outcomes))(m.t), want)
	m.learn()
}

// learn notes the names of the pending rows. Claims and retries renew the names.
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
	}
	equal(m.t, what, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
}

// compare compares the contents of both.
func (m *model) compare() {
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
	leased := lease(m.t, m.b, backend.LeaseRequest{Worker: m.worker, Until: m.due() + 3})
	if !slices.IsSortedFunc(leased, memdb.ByDue) {
		m.t.Fatal("leased rows are not in order of due times")
	}
	equal(m.t, "sizes", sizes(m.t, m.b), sizes(m.t, m.m))
}
