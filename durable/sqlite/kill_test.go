package sqlite_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

var (
	kills = flag.Int("kills", 0, "number of SIGKILLs in the kill tests; 0 means a few")
	sync_ = flag.Duration("syncevery", 0, "Options.SyncEvery in the kill tests")
)

func killCount(t *testing.T) int {
	switch {
	case *kills > 0:
		return *kills
	case testing.Short():
		return 2
	}
	t.Logf("use -kills=300 for the long form")
	return 6
}

// start starts this test binary as a child.
func start(t *testing.T, child, path string) (*exec.Cmd, io.Reader) {
	cmd := exec.Command(os.Args[0], "-test.run=^$", "-syncevery="+sync_.String())
	cmd.Env = append(os.Environ(), "HWT_CHILD="+child, "HWT_STORE="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, out
}

const (
	goroutines       = 64
	keysPerGoroutine = 8
)

// callers creates, sets, moves, and cancels entries with far due times until it is killed.
// It writes each call's intent before the call and its result afterwards. One goroutine
// owns a key, so that the calls of a key are in order.
func callers(path string) {
	flag.Parse()
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, &sqlite.Options{SyncEvery: *sync_})
	if err != nil {
		panic(err)
	}
	for g := range goroutines {
		go func() {
			for {
				key := fmt.Sprintf("k%03d", g*keysPerGoroutine+rand.IntN(keysPerGoroutine))
				due := time.Unix(4e9, rand.Int64N(1e9))
				kind := []string{"create", "set", "move", "cancel"}[rand.IntN(4)]
				fmt.Fprintf(os.Stdout, "intent %s %s %d\n", key, kind, due.UnixNano())
				var e durable.Entry
				var err error
				switch kind {
				case "create":
					e, err = s.Create(ctx, durable.Entry{Key: key, Due: due, Payload: []byte(key)})
				case "set":
					e, err = s.Set(ctx, durable.Entry{Key: key, Due: due, Payload: []byte(key)})
				case "move":
					e, err = s.Move(ctx, key, due)
				case "cancel":
					_, err = s.Cancel(ctx, key)
				}
				result := "ok"
				if err != nil {
					result = strings.ReplaceAll(err.Error(), " ", "_")
				}
				fmt.Fprintf(os.Stdout, "result %s %s %d\n", key, result, e.Generation)
			}
		}()
	}
	select {}
}

// known is the state of a key by the results of its calls.
type known struct {
	due        int64 // 0 without a pending entry
	generation uint64
	kind       string // of the call in progress, or ""
	next       int64  // due time of that call
}

// read applies a journal to the known states.
func read(t *testing.T, journal io.Reader, keys map[string]*known) (calls int) {
	lines := bufio.NewScanner(journal)
	for lines.Scan() {
		var kind, key, value string
		var number int64
		if n, _ := fmt.Sscan(lines.Text(), &kind, &key, &value, &number); n != 4 {
			continue // cut off by the kill
		}
		k := keys[key]
		if k == nil {
			k = &known{}
			keys[key] = k
		}
		if kind == "intent" {
			k.kind, k.next = value, number
			continue
		}
		calls++
		if value == "ok" {
			require.False(t, k.kind == "create" && k.due != 0, "Create of %s returned nil over a pending entry", key)
			require.False(t, (k.kind == "move" || k.kind == "cancel") && k.due == 0, "%s of %s returned nil without a pending entry", k.kind, key)
			if k.due, k.generation = k.next, uint64(number); k.kind == "cancel" {
				k.due = 0
			}
		} else {
			require.False(t, k.kind == "set", "Set of %s: %s", key, value)
			require.Equal(t, k.kind == "create", k.due != 0, "%s of %s: %s", k.kind, key, value)
		}
		k.kind = ""
	}
	return calls
}

// TestKilledStoreKeepsReturnedCalls compares every entry with the results of the
// calls after each SIGKILL of a process with 64 callers.
func TestKilledStoreKeepsReturnedCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timers.db")
	keys := make(map[string]*known)
	calls := 0
	for range killCount(t) {
		cmd, journal := start(t, "callers", path)
		time.AfterFunc(300*time.Millisecond+rand.N(700*time.Millisecond), func() { cmd.Process.Kill() })
		calls += read(t, journal, keys)
		cmd.Wait()

		s, err := sqlite.Open(t.Context(), path, nil)
		require.NoError(t, err)
		require.NoError(t, s.Verify(t.Context()))
		found := make(map[string]durable.Entry)
		for e, err := range s.All(t.Context(), "") {
			require.NoError(t, err)
			found[e.Key] = e
		}
		require.NoError(t, s.Close())
		for key, k := range keys {
			e, pending := found[key]
			due := int64(0)
			if pending {
				due = e.Due.UnixNano()
				require.Equal(t, key, string(e.Payload))
			}
			after := k.next
			if k.kind == "cancel" || k.kind == "move" && k.due == 0 || k.kind == "create" && k.due != 0 {
				after = map[string]int64{"create": k.due}[k.kind]
			}
			ok := due == k.due && (due == 0 || e.Generation == k.generation) ||
				k.kind != "" && due == after && (due == 0 || e.Generation > k.generation)
			require.True(t, ok, "%s: found due %d, generation %d; known: %+v", key, due, e.Generation, *k)
			*k = known{due: due, generation: max(k.generation, e.Generation)}
			delete(found, key)
		}
		require.Empty(t, found, "entries that no call has set")
	}
	t.Logf("%d kills, %d calls", killCount(t), calls)
}

// worker fires entries and appends their IDs to a file until it is killed.
func worker(path string) {
	flag.Parse()
	s, err := sqlite.Open(context.Background(), path, &sqlite.Options{SyncEvery: *sync_, Options: durable.Options{Lease: time.Second}})
	if err != nil {
		panic(err)
	}
	err = s.Work(context.Background(), func(_ context.Context, f durable.Firing) error {
		_, err := fmt.Printf("fired %s %s %d\n", f.Key, f.ID, f.Lateness)
		return err
	}, nil)
	panic(err)
}

// TestKilledWorkerLosesNoEntry kills a worker while it fires. Every entry fires at least
// once, never early, and with one ID.
func TestKilledWorkerLosesNoEntry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timers.db")
	s, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	rounds := killCount(t)
	const perRound = 300
	ids := make(map[string]string)
	stored, err := s.SetMany(t.Context(), func(yield func(durable.Entry) bool) {
		for i := range rounds * perRound {
			e := durable.Entry{Key: fmt.Sprintf("k%06d", i), Due: time.Now().Add(time.Duration(i) * time.Second / perRound)}
			if !yield(e) {
				return
			}
		}
	})
	require.NoError(t, err)
	require.Equal(t, rounds*perRound, stored)
	require.NoError(t, s.Close())
	repeated := 0
	fire := func(until time.Duration, complete bool) {
		cmd, out := start(t, "worker", path)
		kill := time.AfterFunc(until, func() { cmd.Process.Kill() })
		defer kill.Stop()
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var key, id string
			var lateness int64
			if n, _ := fmt.Sscanf(lines.Text(), "fired %s %s %d", &key, &id, &lateness); n != 3 {
				continue
			}
			require.GreaterOrEqual(t, lateness, int64(0), key)
			if ids[key] != "" {
				repeated++
				require.Equal(t, ids[key], id, key)
			}
			if ids[key] = id; complete && len(ids) == stored {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
	}
	for range rounds {
		fire(500*time.Millisecond+rand.N(time.Second), false)
	}
	if len(ids) < stored {
		fire(2*time.Minute, true)
	}
	require.Len(t, ids, stored)
	t.Logf("%d kills, %d entries, %d repeated firings", rounds, stored, repeated)
}
