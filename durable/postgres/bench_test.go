package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// BenchmarkMove moves entries to later times in batches of 500, with the index of due times and without
// it. It reports the processor time of the server, and the share of updates that change no index.
func BenchmarkMove(b *testing.B) {
	for _, index := range []string{"with", "without"} {
		b.Run(index+" index", func(b *testing.B) {
			schema := fmt.Sprintf("bench_%d", schemas.Add(1))
			pool := newPool(b, "")
			db := open(b, pool, postgres.Options{Schema: schema})
			const entries = 50_000
			n := 0
			ops := make([]backend.Op, 500)
			step := func(kind backend.Kind, key func() int) {
				for i := range ops {
					ops[i] = set(fmt.Sprintf("order-%08d", key()), time.Now().Add(time.Hour))
					ops[i].Kind = kind
				}
				apply(b, db, ops...)
			}
			for n < entries {
				step(backend.Set, func() int { n++; return n })
			}
			if index == "without" {
				_, err := pool.Exec(b.Context(), "DROP INDEX "+schema+".entry_due")
				require.NoError(b, err)
			}
			began := serverTicks()
			for b.Loop() {
				step(backend.Move, func() int { return 1 + rand.IntN(entries) })
			}
			b.ReportMetric(float64(serverTicks()-began)*1e4/float64(b.N*len(ops)), "server-us/entry")
			time.Sleep(1200 * time.Millisecond) // until the connections have reported to the statistics
			var all, hot float64
			require.NoError(b, pool.QueryRow(b.Context(), `SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables
				WHERE schemaname = $1 AND relname = 'entry'`, schema).Scan(&all, &hot))
			b.ReportMetric(100*hot/all, "%-hot")
		})
	}
}

// serverTicks returns the processor time of the server's processes, in hundredths of a second.
func serverTicks() (all int64) {
	for pid := range server.Children() {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(stat), ") ")
		for i, field := range strings.Fields(rest) {
			if ticks, err := strconv.ParseInt(field, 10, 64); err == nil && (i == 11 || i == 12) {
				all += ticks
			}
		}
	}
	return all
}
