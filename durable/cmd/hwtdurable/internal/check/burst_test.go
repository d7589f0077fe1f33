package check

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

var burst = flag.Int("burst", 5000, "entries due in one second in TestBurst")

// TestBurst fires very many entries that are due in the same second, in two processes of
// which one is killed. Each fires once, or again after the kill with the same ID.
func TestBurst(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 seconds")
	}
	ctx, dir, many := t.Context(), t.TempDir(), *burst
	where := place.Place{File: filepath.Join(dir, "store.db"), Lease: lease}
	worker := Config{Place: where, Dir: dir, Works: true}
	s := &scene{dir: dir, resolve: resolved, reads: where, configs: []Config{worker, worker}}
	defer s.end()
	due := time.Now().Add(3*time.Second + time.Duration(many)*100*time.Microsecond)
	store, err := where.Open(ctx, false)
	require.NoError(t, err)
	defer store.Close()
	require.NoError(t, setMany(ctx, store, durable.Entry{Key: "order-", Due: due}, many, time.Second))
	require.Less(t, time.Since(due), time.Duration(0), "the entries were due before the last one was set")
	require.NoError(t, s.startAll(ctx))
	proc.Sleep(ctx, time.Until(due)+rand.N(time.Second))
	k := killed{s.procs[0].PID(), now()}
	require.NoError(t, s.kill(ctx, 0))
	require.NoError(t, awaitFired(ctx, store, "", time.Minute+time.Duration(many)*time.Millisecond))
	took := time.Since(due)
	for i := range s.configs { // their firings end before they are read
		require.NoError(t, s.procs[i].Stop(time.Minute))
	}
	v, err := judgeBurst(dir, many, due.UnixNano(), k)
	require.NoError(t, err)
	require.Empty(t, v.Violations)
	t.Logf("%d firings in %v, %d of them again after the kill", v.Firings, took, v.Repeats)
}

func burstKey(i int) string { return numbered("order-", i) }

// killed is the process that was killed, and when.
type killed struct {
	pid int
	at  int64
}

// explains reports whether the killed process fired first, and another one after the kill.
func (k killed) explains(first, again Firing) bool {
	return first.Worker == k.pid && again.Worker != k.pid && again.At >= k.at
}

// judgeBurst judges the firings of entries due within a second of the given time.
func judgeBurst(dir string, many int, due int64, k killed) (Verdict, error) {
	v := Verdict{Keys: many, Operations: many}
	first := make(map[string]Firing, many)
	ids := make(map[string]bool, many)
	err := readLines(filepath.Join(dir, "firings-*"), func(_ string, f Firing) {
		v.Firings++
		before, again := first[f.Key]
		switch {
		case f.Due < due || f.Due > due+int64(time.Second) || f.At < f.Due-int64(time.Millisecond):
			v.Violations = append(v.Violations, fmt.Sprintf("a wrong time: %+v", f))
		case !again:
			first[f.Key], ids[f.ID] = f, true
		case before.ID != f.ID || before.Due != f.Due || !k.explains(before, f) && !k.explains(f, before):
			v.Violations = append(v.Violations, fmt.Sprintf("%s fired twice without a reason: %+v and %+v", f.Key, before, f))
		default:
			v.Repeats++
		}
	})
	for i := range many {
		if _, fired := first[burstKey(i)]; !fired {
			v.Violations = append(v.Violations, burstKey(i)+" did not fire")
		}
	}
	if len(first) != many || len(ids) != many {
		v.Violations = append(v.Violations, fmt.Sprintf("%d keys with %d IDs (expected: %d)", len(first), len(ids), many))
	}
	return v, err
}
