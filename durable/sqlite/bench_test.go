package sqlite

import (
	"fmt"
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
			rows, err = s.backend.Lease(ctx, backend.LeaseRequest{Worker: worker, Until: first + int64(n), Max: batch})
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
