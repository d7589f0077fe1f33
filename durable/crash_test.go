package durable_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// crash claims rows of keys for a worker that then dies.
func (f *fixture) crash(keys ...string) {
	f.t.Helper()
	ctx := f.t.Context()
	id, err := f.b.DB.Heartbeat(ctx, 0, time.Second)
	require.NoError(f.t, err)
	for _, key := range keys {
		row, err := f.b.Get(ctx, key)
		require.NoError(f.t, err)
		answers, err := f.b.DB.Claim(ctx, id, []backend.Claim{{Ref: row.Ref()}})
		require.NoError(f.t, err)
		require.Equal(f.t, []backend.Answer{backend.Won}, answers)
	}
	_, err = f.b.DB.Heartbeat(ctx, id, 0)
	require.NoError(f.t, err)
}

// killer is a Work that the handler of the culprit cuts off from the database, as a crash does. It
// reports whether there is a dead letter.
func (f *fixture) killer(most int) (done bool) {
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- f.Work(ctx, func(ctx context.Context, firing durable.Firing) error {
			f.note(firing)
			if firing.Key != "culprit" {
				time.Sleep(10 * time.Millisecond)
				return nil
			}
			f.b.setAll(errMute) // no answer until the lease has ended
			<-ctx.Done()
			return ctx.Err()
		}, &durable.WorkOptions{MaxCrashes: most, DrainTimeout: -1})
	}()
	time.Sleep(30 * time.Second)
	for _, method := range workMethods {
		f.b.set(method, nil)
	}
	cancel()
	assert.NoError(f.t, <-ended)
	return len(f.dead()) > 0
}

func TestEntryThatKillsItsWorkerIsGivenUp(t *testing.T) {
	for _, marks := range []bool{false, true} {
		t.Run(fmt.Sprintf("leases marked=%v", marks), func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				if marks {
					f.b.leased = make(map[backend.Ref]bool)
				}
				for i := range 20 {
					f.setIn(fmt.Sprint("neighbor", i), time.Second)
				}
				f.setIn("culprit", time.Second)
				kills := 0
				for ; !f.killer(3); kills++ {
					require.Less(t, kills, 5)
					clear(f.b.leased)
				}
				dead := f.dead()
				require.Len(t, dead, 1)
				assert.Equal(t, "culprit", dead[0].Key)
				assert.Equal(t, durable.Crashed, dead[0].Reason)
				assert.Equal(t, "crashed", dead[0].Reason.String())
				assert.Contains(t, dead[0].Error, "without an outcome, as after a crash of the worker: 3")
				fired := map[string]int{}
				for _, firing := range f.fired {
					fired[firing.Key]++
				}
				for i := range 20 {
					assert.LessOrEqual(t, fired[fmt.Sprint("neighbor", i)], 2, "once, and once more after the first crash")
				}
				assert.Empty(t, f.keys())
			})
		})
	}
}

func TestSuspectsDelayNoOtherEntry(t *testing.T) {
	inBubble(t, func(f *fixture) {
		keys := []string{}
		for i := range 10 {
			keys = append(keys, fmt.Sprint(i))
			f.setIn(keys[i], 0)
		}
		f.setIn("other", 5*time.Second)
		f.crash(keys...)
		defer f.work(func(ctx context.Context, firing durable.Firing) error {
			if firing.Key != "other" {
				time.Sleep(time.Second)
			}
			return nil
		}, nil)()
		time.Sleep(20 * time.Second)
		f.mu.Lock()
		defer f.mu.Unlock()
		assert.Len(t, f.fired, 11)
		for _, firing := range f.fired {
			assert.True(t, firing.Key != "other" || firing.Lateness < time.Millisecond, "no suspect delays it")
		}
	})
}

func TestNegativeMaxCrashesIsNoLimit(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.setIn("k", 0)
		for range 7 {
			f.crash("k")
			id, err := f.b.DB.Heartbeat(f.t.Context(), 0, time.Second)
			require.NoError(t, err)
			rows, err := f.b.DB.Adopt(f.t.Context(), id, 1)
			require.NoError(t, err)
			_, err = f.b.DB.Finish(f.t.Context(), id, []backend.Outcome{{Ref: rows[0].Ref(), Fate: backend.Release}})
			require.NoError(t, err)
		}
		defer f.work(nil, &durable.WorkOptions{MaxCrashes: -1})()
		time.Sleep(5 * time.Second)
		assert.Len(t, f.times(), 1)
		assert.Empty(t, f.dead())
	})
}
