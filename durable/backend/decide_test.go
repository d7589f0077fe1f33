package backend_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

// FuzzRules decodes its input as operations on one key, and checks the package's rules
// after each: R2, generations grow; R3, only outcomes remove a claimed row.
func FuzzRules(f *testing.F) {
	f.Add([]byte("\x00\x10\x20\x01\x02\x13\x04\x25"))
	f.Add([]byte{0, 0, 6, 0, 0, 0, 7, 2, 4, 1, 7, 1})
	f.Fuzz(func(t *testing.T, steps []byte) {
		ctx := context.Background()
		m := memdb.New()
		worker, err := m.Heartbeat(ctx, 0, time.Hour)
		require.NoError(t, err)
		var last uint64
		var refs []backend.Ref
		claimed := make(map[uint64]bool) // nonces of claimed rows
		for i := 0; i+1 < len(steps); i += 2 {
			kind, arg := steps[i]%8, steps[i+1]
			var ref backend.Ref
			if len(refs) > 0 {
				ref = refs[int(arg)%len(refs)]
			}
			ref.Key = "k"
			switch kind {
			case 6:
				claim := backend.Claim{Ref: ref}
				if arg&1 != 0 {
					claim.Next = &backend.Row{Key: "k", Due: 1, Nonce: uint64(i) + 1<<32}
				}
				_, err = m.Claim(ctx, worker, []backend.Claim{claim})
			case 7:
				_, err = m.Finish(ctx, worker, []backend.Outcome{{Ref: ref, Fate: backend.Fate(arg % 4), Due: 2}})
				clear(claimed) // regardless of the removed row
			default:
				op := backend.Op{Kind: backend.Kind(kind), Row: backend.Row{Key: "k", Due: int64(arg), Nonce: uint64(i + 1)}}
				if arg&1 != 0 || op.Kind >= backend.Requeue {
					op.If = ref.Generation
				}
				var results []backend.Result
				results, err = m.Apply(ctx, []backend.Op{op})
				if r := results[0]; r.Err == nil && op.Kind != backend.Cancel && op.Kind != backend.Discard {
					require.Greater(t, r.Row.Generation, last, "R2")
				}
			}
			require.NoError(t, err)
			now := make(map[uint64]bool)
			for _, r := range m.Rows("k") {
				if last = max(last, r.Generation); r.State == backend.Claimed {
					now[r.Nonce] = true
				}
				refs = append(refs, r.Ref())
			}
			for nonce := range claimed {
				require.Contains(t, now, nonce, "R3")
			}
			claimed = now
		}
	})
}

// one performs an operation.
func one(t *testing.T, m *memdb.DB, op backend.Op) backend.Row {
	t.Helper()
	results, err := m.Apply(t.Context(), []backend.Op{op})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	return results[0].Row
}

// attempt makes a claim, and ends it.
func attempt(t *testing.T, m *memdb.DB, worker int64, claim backend.Claim, fate backend.Fate) {
	t.Helper()
	answers, err := m.Claim(t.Context(), worker, []backend.Claim{claim})
	require.NoError(t, err)
	require.Equal(t, []backend.Answer{backend.Won}, answers)
	applied, err := m.Finish(t.Context(), worker, []backend.Outcome{{Ref: claim.Ref, Fate: fate, Due: 2}})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, applied)
}

// The claim of another occurrence detaches it.
func TestLastOccurrenceShowsThatItHasBegun(t *testing.T) {
	for name, fate := range map[string]backend.Fate{"retried": backend.Retry, "postponed": backend.Postpone, "released": backend.Release, "one-shot": backend.Release} {
		t.Run(name, func(t *testing.T) {
			m := memdb.New()
			worker, err := m.Heartbeat(t.Context(), 0, time.Hour)
			require.NoError(t, err)
			row, recurs := backend.Row{Key: "k", Due: 1, Nonce: 7}, name != "one-shot"
			if recurs {
				row.Every = "every"
			}
			first := one(t, m, backend.Op{Row: row})
			require.False(t, first.Begun())
			attempt(t, m, worker, backend.Claim{Ref: first.Ref()}, fate)
			ended, err := m.Get(t.Context(), "k")
			require.NoError(t, err)
			require.Equal(t, recurs, ended.Begun())
			require.Equal(t, fate == backend.Release, ended.Generation == first.Generation)
			moved := one(t, m, backend.Op{Kind: backend.Move, Row: backend.Row{Key: "k", Due: 3, Nonce: 8}})
			require.Equal(t, recurs, moved.Begun())
			same := moved
			same.Payload = []byte("other") // Ensure changes it
			same = one(t, m, backend.Op{Row: same})
			require.Equal(t, recurs, same.Begun())
			require.Len(t, m.Rows("k"), 1)
			next := one(t, m, backend.Op{Row: row})
			rows := m.Rows("k")
			require.Equal(t, next, rows[0])
			require.Equal(t, recurs, len(rows) == 2 && rows[1].Ref() == same.Ref() && rows[1].Begun(), "whether Set loses it")
		})
	}
}

// A worker plans a claim for a copy of a row from before another worker's claim.
func TestPlanForAStaleCopyIsOvertaken(t *testing.T) {
	next := backend.Row{Key: "k", Due: 9, Every: "every"}
	for name, planned := range map[string]*backend.Row{"last": nil, "not last": &next} {
		t.Run(name, func(t *testing.T) {
			m := memdb.New()
			worker, err := m.Heartbeat(t.Context(), 0, time.Hour)
			require.NoError(t, err)
			ref := one(t, m, backend.Op{Row: backend.Row{Key: "k", Due: 1, Every: "every"}}).Ref()
			attempt(t, m, worker, backend.Claim{Ref: ref, Next: planned}, backend.Release)
			before := m.Rows("k")
			for _, stale := range []backend.Claim{{Next: &next}, {Skip: true}, {Skip: true, Next: &next}, {Due: 9}} {
				stale.Ref = ref
				answers, err := m.Claim(t.Context(), worker, []backend.Claim{stale})
				require.NoError(t, err)
				require.Equal(t, []backend.Answer{backend.Overtaken}, answers)
				require.Equal(t, before, m.Rows("k"))
			}
			row := before[len(before)-1]
			for busy, want := range map[bool]backend.Answer{true: backend.Overtaken, false: backend.Won} {
				_, answer := (&backend.Claim{Ref: ref, Busy: backend.Skip}).Decide(&row, busy, worker, 99)
				require.Equal(t, want, answer, busy)
			}
			attempt(t, m, worker, backend.Claim{Ref: ref}, backend.Done)
		})
	}
}

// Stores of earlier releases have it.
func TestChecksumStaysTheSame(t *testing.T) {
	row := backend.Row{
		Key: "order-17", Generation: 7, Due: 1_700_000_000_000_000_000, NotAfter: 1_700_000_001_000_000_000, Payload: []byte("payload"),
		Attempt: 2, Every: "1 0 @every 5m", Schedule: "nightly", Origin: 6, Nonce: 1<<64 - 1,
	}
	require.Equal(t, uint32(0x9b1396ef), row.Checksum())
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { row.Checksum() }), 1.0)
}

func TestChecksumCoversEveryField(t *testing.T) {
	row := backend.Row{Key: "k", Generation: 1, Due: 2, NotAfter: 3, Payload: []byte{4}, Attempt: 5, Every: "e", Schedule: "s", Origin: 6, Nonce: 7, Group: "g", Headers: "h"}
	sum := row.Checksum()
	for name, change := range map[string]func(r *backend.Row){
		"Key":        func(r *backend.Row) { r.Key = "l" },
		"Generation": func(r *backend.Row) { r.Generation++ },
		"Due":        func(r *backend.Row) { r.Due++ },
		"NotAfter":   func(r *backend.Row) { r.NotAfter++ },
		"Payload":    func(r *backend.Row) { r.Payload = []byte{5} },
		"Attempt":    func(r *backend.Row) { r.Attempt++ },
		"Every":      func(r *backend.Row) { r.Every = "f" },
		"Schedule":   func(r *backend.Row) { r.Schedule = "t" },
		"boundary":   func(r *backend.Row) { r.Every, r.Schedule = "es", "" },
		"Origin":     func(r *backend.Row) { r.Origin++ },
		"Nonce":      func(r *backend.Row) { r.Nonce++ },
		"Group":      func(r *backend.Row) { r.Group = "h" },
		"no Group":   func(r *backend.Row) { r.Group = "" },
		"Headers":    func(r *backend.Row) { r.Headers = "i" },
		"no Headers": func(r *backend.Row) { r.Headers = "" },
		"swapped":    func(r *backend.Row) { r.Group, r.Headers = "", "gh" },
	} {
		changed := row
		change(&changed)
		require.NotEqual(t, sum, changed.Checksum(), name)
		require.ErrorIs(t, changed.Verify(0, sum), backend.ErrDamaged, name)
	}
}

func TestChecksumLeavesOutCrashesAndLast(t *testing.T) {
	row := backend.Row{Key: "k", Generation: 1, Due: 2, Group: "g"}
	sum := row.Checksum()
	row.Crashes, row.Last = 3, "done"
	require.NoError(t, row.Verify(0, sum))
}

func TestCrashesOutOfRangeCountAsNone(t *testing.T) {
	for stored, want := range map[int64]backend.Row{0: {}, 5: {Crashes: 5}, -5: {Crashes: 5, Tried: true}, backend.MaxCrashes: {Crashes: backend.MaxCrashes},
		-backend.MaxCrashes: {Crashes: backend.MaxCrashes, Tried: true}, backend.MaxCrashes + 1: {}, -backend.MaxCrashes - 1: {}} {
		t.Run(fmt.Sprint(stored), func(t *testing.T) {
			var row backend.Row
			row.Crashes, row.Tried = backend.CrashesOf(stored)
			require.Equal(t, want, row)
			if row.Crashes != 0 {
				require.Equal(t, stored, row.StoredCrashes())
			}
		})
	}
}

func TestAdoptCountsTheFirstCrashAndTrials(t *testing.T) {
	for name, c := range map[string]struct{ row, want backend.Row }{
		"first":   {backend.Row{Holder: 1}, backend.Row{Holder: 2, Crashes: 1}},
		"waiting": {backend.Row{Holder: 1, Crashes: 1}, backend.Row{Holder: 2, Crashes: 1}},
		"tried":   {backend.Row{Holder: 1, Crashes: 1, Tried: true}, backend.Row{Holder: 2, Crashes: 2}},
		"most":    {backend.Row{Crashes: backend.MaxCrashes, Tried: true}, backend.Row{Holder: 2, Crashes: backend.MaxCrashes}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.row.AdoptedBy(2)) })
	}
}

func TestKindEndsWithTheFirstSlash(t *testing.T) {
	for key, want := range map[string]string{"": "", "order-1": "", "order/1": "order/", "order/1/2": "order/", "/1": "/"} {
		t.Run(key, func(t *testing.T) { require.Equal(t, want, backend.KindOf(key)) })
	}
}
