package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// BenchmarkLetters reports the time in which 5,000 dead letters are requeued, and discarded.
func BenchmarkLetters(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) {
			ctx := b.Context()
			where := place.Place{File: filepath.Join(b.TempDir(), "store")}
			if name == "postgres" {
				server, err := pgtest.Start(ctx, nil)
				require.NoError(b, err)
				defer server.Close()
				where = place.Place{URL: server.URL("postgres")}
			}
			s, err := where.Open(ctx, false)
			require.NoError(b, err)
			defer s.Close()
			const letters = 5000
			var requeue, discard time.Duration
			for b.Loop() {
				bury(b, s, letters)
				began := time.Now()
				n, err := s.RequeueMany(ctx, durable.Letters{Prefix: "k"})
				requeue += time.Since(began)
				require.NoError(b, err)
				require.Equal(b, letters, n)
				bury(b, s, letters)
				began = time.Now()
				n, err = s.DiscardMany(ctx, durable.Letters{Error: "refused"})
				discard += time.Since(began)
				require.NoError(b, err)
				require.Equal(b, letters, n)
			}
			b.ReportMetric(float64(requeue.Milliseconds())/float64(b.N), "ms/requeue")
			b.ReportMetric(float64(discard.Milliseconds())/float64(b.N), "ms/discard")
		})
	}
}

// bury makes n dead letters.
func bury(b *testing.B, s *place.Store, n int) {
	db := s.Backend()
	worker, err := db.Heartbeat(b.Context(), 0, time.Hour)
	require.NoError(b, err)
	for first := 0; first < n; first += 500 {
		ops, claims, outcomes := make([]backend.Op, 500), make([]backend.Claim, 500), make([]backend.Outcome, 500)
		for i := range ops {
			ops[i].Row = backend.Row{Key: fmt.Sprintf("k%05d", first+i), Due: time.Now().Add(time.Hour).UnixNano(), Payload: make([]byte, 100)}
		}
		results, err := db.Apply(b.Context(), ops)
		require.NoError(b, err)
		for i, r := range results {
			claims[i].Ref = r.Row.Ref()
			outcomes[i] = backend.Outcome{Ref: r.Row.Ref(), Fate: backend.Bury, Error: "connection refused"}
		}
		_, err = db.Claim(b.Context(), worker, claims)
		require.NoError(b, err)
		_, err = db.Finish(b.Context(), worker, outcomes)
		require.NoError(b, err)
	}
}
