package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// killer is the key of an entry whose handler kills its process.
const killer = "order-0100-killer"

// runKiller is a process that works until it is stopped or killed.
func runKiller(c Config) error {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	s, err := c.Place.Open(ctx, false)
	if err != nil {
		return err
	}
	defer s.Close()
	firings, err := c.open("firings")
	if err != nil {
		return err
	}
	defer firings.file.Close()
	done := make(chan error, 1)
	go func() {
		done <- s.Work(ctx, func(_ context.Context, f durable.Firing) error {
			if f.Key == killer {
				self, _ := os.FindProcess(os.Getpid())
				return errors.Join(firings.add(Firing{Key: f.Key}), self.Kill())
			}
			return firings.add(Firing{Key: f.Key})
		}, &durable.WorkOptions{Concurrency: 4})
	}()
	proc.Ready()
	<-proc.ParentEnded()
	end()
	return <-done
}

// TestEntryThatKillsItsProcess kills processes by one entry among 200. The test needs real processes and leases, and
// polls the store.
func TestEntryThatKillsItsProcess(t *testing.T) {
	for _, postgres := range []bool{false, true} {
		for n := 1; n <= 2; n++ {
			t.Run(fmt.Sprintf("postgres=%v, processes=%d", postgres, n), func(t *testing.T) { testKiller(t, postgres, n) })
		}
	}
}

func testKiller(t *testing.T, postgres bool, processes int) {
	if testing.Short() {
		t.Skip("takes 20 seconds")
	}
	ctx, dir := t.Context(), t.TempDir()
	c := Config{Place: place.Place{File: filepath.Join(dir, "store.db"), Lease: time.Second}, Dir: dir}
	if postgres {
		server, err := pgtest.Start(ctx, nil)
		if errors.Is(err, pgtest.ErrNotInstalled) {
			t.Skip(err)
		}
		require.NoError(t, err)
		defer server.Close()
		c.Place = place.Place{URL: server.URL("postgres"), Schema: "hwt", Lease: time.Second}
	}
	s, err := c.Place.Open(ctx, false)
	require.NoError(t, err)
	defer s.Close()
	keys := []string{killer}
	for i := range 200 {
		keys = append(keys, fmt.Sprintf("order-%04d", i))
	}
	due := time.Now().Add(3 * time.Second)
	_, err = s.SetMany(ctx, func(yield func(durable.Entry) bool) {
		for _, key := range keys {
			if !yield(durable.Entry{Key: key, Due: due}) {
				return
			}
		}
	})
	require.NoError(t, err)
	letters := killAll(t, c, s, processes)
	require.Len(t, letters, 1)
	assert.Equal(t, killer, letters[0].Key)
	assert.Equal(t, durable.Crashed, letters[0].Reason)
	fired := make(map[string]int)
	require.NoError(t, readLines(filepath.Join(dir, "firings-*"), func(_ string, f Firing) { fired[f.Key]++ }))
	assert.Equal(t, 5, fired[killer])
	for _, key := range keys[1:] {
		assert.True(t, 1 <= fired[key] && fired[key] <= 3, "%d firings of %s", fired[key], key)
	}
}

// killAll starts processes, each again when it has died, until no entry is left. It returns the dead letters.
func killAll(t *testing.T, c Config, s *place.Store, processes int) (letters []durable.DeadLetter) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	procs := make([]*proc.Process, processes)
	for {
		for i, p := range procs {
			if p != nil {
				select {
				default:
					continue
				case <-p.Ended():
				}
			}
			var err error
			procs[i], err = proc.Start(ctx, "killer", c)
			require.NoError(t, err)
			defer procs[i].Kill()
		}
		st, err := s.Backend().Stats(ctx, nil)
		require.NoError(t, err)
		if st.Pending+st.Claimed == 0 {
			break
		}
		require.True(t, proc.Sleep(ctx, 100*time.Millisecond), "%+v", st)
	}
	for d, err := range s.Dead(ctx, "") {
		require.NoError(t, err)
		letters = append(letters, d)
	}
	return letters
}
