package sqlite

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
)

// BenchmarkEntry reports the elapsed time per entry of the four steps of a firing, in batches of
// 250 entries.
func BenchmarkEntry(b *testing.B) {
	ctx := b.Context()
	s, err := Open(ctx, filepath.Join(b.TempDir(), "timers.db"), nil)
	require.NoError(b, err)
	defer s.Close()
	worker, err := s.backend.Heartbeat(ctx, 0, time.Hour)
	require.NoError(b, err)
	const batch = 250
	ops, claims, outcomes := make([]backend.Op, batch), make([]backend.Claim, batch), make([]backend.Outcome, batch)
	var took [4]time.Duration
	step := func(i int, f func() error) {
		began := time.Now()
		require.NoError(b, f())
		took[i] += time.Since(began)
	}
	first, n := time.Now().UnixNano(), 0
	for b.Loop() {
		for i := range ops {
			n++
			ops[i].Row = backend.Row{Key: fmt.Sprintf("order-%08d", n), Due: first + int64(n), Nonce: uint64(n) << 32, Attempt: 1}
		}
		var rows []backend.Row
		step(0, func() error { _, err := s.backend.Apply(ctx, ops); return err })
		step(1, func() (err error) {
			lanes, err := s.backend.Lease(ctx, backend.LeaseRequest{Worker: worker, Until: first + int64(n), Lanes: []backend.Lane{{Max: batch}}})
			rows = lanes[0].Rows
			return err
		})
		for i := range rows {
			claims[i].Ref, outcomes[i].Ref = rows[i].Ref(), rows[i].Ref()
		}
		step(2, func() error { _, err := s.backend.Claim(ctx, worker, claims); return err })
		step(3, func() error { _, err := s.backend.Finish(ctx, worker, outcomes); return err })
	}
	for i, name := range []string{"set", "lease", "claim", "delete"} {
		b.ReportMetric(float64(took[i].Microseconds())/float64(n), name+"-us/entry")
	}
}

// BenchmarkMove moves entries to later times in batches of 1,000, with the index of due times and
// without it.
func BenchmarkMove(b *testing.B) {
	for _, index := range []string{"with", "without"} {
		b.Run(index+" index", func(b *testing.B) {
			ctx := b.Context()
			s, err := Open(ctx, filepath.Join(b.TempDir(), "timers.db"), nil)
			require.NoError(b, err)
			defer s.Close()
			ops := make([]backend.Op, 1000)
			apply := func(kind backend.Kind, key func() int) {
				for i := range ops {
					due := time.Now().Add(time.Hour).UnixNano()
					ops[i] = backend.Op{Kind: kind, Row: backend.Row{Key: fmt.Sprintf("order-%08d", key()), Due: due, Nonce: rand.Uint64()}}
				}
				_, err := s.backend.Apply(ctx, ops)
				require.NoError(b, err)
			}
			const entries = 100_000
			n := 0
			for n < entries {
				apply(backend.Set, func() int { n++; return n })
			}
			if index == "without" {
				require.NoError(b, s.backend.do(ctx, 1, func(t *txn) error { return t.c.Exec("DROP INDEX hwt_due") }))
			}
			for b.Loop() {
				apply(backend.Move, func() int { return 1 + rand.IntN(entries) })
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(ops)), "us/entry")
		})
	}
}
