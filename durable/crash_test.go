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

// blast is a Work in which the handlers of culprits end its connection to the database 10 ms after their
// call, as a crash does. It works for 30 s.
func (f *fixture) blast(culprits func(key string) bool, options durable.WorkOptions, works int) {
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	options.DrainTimeout = -1
	ended := make(chan error, works)
	for range works {
		go func() {
			ended <- f.Work(ctx, func(ctx context.Context, firing durable.Firing) error {
				f.note(firing)
				time.Sleep(10 * time.Millisecond)
				if !culprits(firing.Key) {
					return nil
				}
				f.b.setAll(errMute) // no answer until the lease has ended
				<-ctx.Done()
				return ctx.Err()
			}, &options)
		}()
	}
	time.Sleep(30 * time.Second)
	cancel()
	for range works {
		assert.NoError(f.t, <-ended)
	}
	for _, method := range workMethods {
		f.b.set(method, nil)
	}
}

func TestEntryThatKillsItsWorkerIsGivenUp(t *testing.T) {
	for _, c := range []struct {
		marks                 bool
		culprits, works, held int // held is MaxHeld
		most, fires           int // MaxCrashes, and firings of a neighbor
		runs, neighbors       int
	}{
		{false, 1, 1, 0, 5, 3, 5, 200},
		{true, 1, 1, 0, 5, 3, 5, 200},
		{false, 2, 1, 0, 5, 3, 10, 200},
		{false, 1, 1, 0, 2, 2, 2, 20}, // neighbors are tried alone
		{false, 1, 2, 4, 2, 2, 2, 3},  // two Works of the process share the suspects
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				if c.marks {
					f.b.leased = make(map[backend.Ref]bool)
				}
				culprits := map[string]bool{}
				for i := range c.culprits {
					key := fmt.Sprint("culprit", i)
					culprits[key] = true
					f.setIn(key, time.Second)
				}
				for i := range c.neighbors {
					f.setIn(fmt.Sprint("neighbor", i), time.Second)
				}
				kills := 0
				for ; len(f.dead()) < c.culprits; kills++ {
					require.Less(t, kills, 2*c.runs)
					f.blast(func(key string) bool { return culprits[key] }, durable.WorkOptions{MaxCrashes: c.most, MaxHeld: c.held}, c.works)
					clear(f.b.leased)
				}
				for _, letter := range f.dead() {
					assert.True(t, culprits[letter.Key], letter.Key)
					assert.Equal(t, durable.Crashed, letter.Reason)
					assert.Equal(t, "crashed", letter.Reason.String())
					assert.Contains(t, letter.Error, fmt.Sprint("without an outcome, as after a crash of the worker: ", c.most))
				}
				fired := map[string]int{}
				for _, firing := range f.fired {
					fired[firing.Key]++
				}
				for i := range c.neighbors {
					n := fired[fmt.Sprint("neighbor", i)]
					assert.True(t, 1 <= n && n <= c.fires, "firings of a neighbor: %d", n)
				}
				for key := range culprits {
					assert.Equal(t, c.most, fired[key])
				}
				assert.Empty(t, f.keys())
				assert.Zero(t, f.stats().Claimed)
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

func TestHangingSuspectDelaysOthersBriefly(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for i := range 3 {
			f.setIn(fmt.Sprint(i), 0)
		}
		f.crash("0", "1", "2")
		defer f.work(func(ctx context.Context, firing durable.Firing) error {
			<-ctx.Done()
			return nil
		}, &durable.WorkOptions{MaxCrashes: 2, DrainTimeout: -1})() // each is tried alone
		time.Sleep(15 * time.Second)
		assert.Len(t, f.times(), 2)
		time.Sleep(10 * time.Second)
		assert.Len(t, f.times(), 3)
	})
}

// The handler of a suspect may have run in the worker that died, so that a Cancel must not succeed.
func TestSuspectStaysClaimedAfterWork(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for i := range 4 {
			f.setIn(fmt.Sprint(i), 0)
		}
		f.crash("0", "1", "2", "3")
		for range 6 { // a Work that ends kills nobody
			end := f.work(hang, &durable.WorkOptions{MaxCrashes: 2, Concurrency: 1, DrainTimeout: -1})
			time.Sleep(5 * time.Second)
			end()
			for i := range 4 {
				_, err := f.Cancel(t.Context(), fmt.Sprint(i))
				require.ErrorIs(t, err, durable.ErrFired)
			}
		}
		defer f.work(nil, &durable.WorkOptions{MaxCrashes: 2})()
		time.Sleep(5 * time.Second)
		assert.Empty(t, f.dead())
		assert.Zero(t, f.stats().Claimed)
	})
}

func TestNegativeMaxCrashesIsNoLimit(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.setIn("k", 0)
		f.crash("k")
		for range 7 {
			id, err := f.b.DB.Heartbeat(f.t.Context(), 0, time.Second)
			require.NoError(t, err)
			rows, err := f.b.DB.Adopt(f.t.Context(), id, nil, 1)
			require.NoError(t, err)
			_, err = f.b.DB.Claim(f.t.Context(), id, []backend.Claim{{Ref: rows[0].Ref(), Again: true}})
			require.NoError(t, err)
			_, err = f.b.DB.Heartbeat(f.t.Context(), id, 0)
			require.NoError(t, err)
		}
		defer f.work(nil, &durable.WorkOptions{MaxCrashes: -1})()
		time.Sleep(5 * time.Second)
		assert.Len(t, f.times(), 1)
		assert.Empty(t, f.dead())
	})
}

// The suspects are as many as the share of their group.
func TestSuspectsLeaveTheRoomOfTheirGroup(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var keys []string
		for i := range 240 {
			keys = append(keys, fmt.Sprint(i))
			f.setIn(keys[i], 0, group("tenant"))
		}
		f.crash(keys...)
		defer f.work(func(ctx context.Context, firing durable.Firing) error {
			if firing.Key != "new" {
				<-ctx.Done()
			}
			return nil
		}, &durable.WorkOptions{Concurrency: 30, MaxHeld: 480, MaxCrashes: 2, DrainTimeout: -1})() // each is tried alone
		f.setIn("new", 5*time.Second, group("tenant"))
		time.Sleep(20 * time.Second)
		for _, firing := range f.firings() {
			if firing.Key == "new" {
				assert.Zero(t, firing.Lateness)
				return
			}
		}
		assert.Fail(t, "the new entry has not fired")
	})
}

// A look for rows of workers that are gone may read many rows of kinds that the Work does not handle.
func TestSlowLooksForRowsOfGoneWorkersPause(t *testing.T) {
	for slow, want := range map[time.Duration]float64{0: 60, 100 * time.Millisecond: 60 / 2.1, time.Second: 60 / 6.} {
		inBubble(t, func(f *fixture) {
			f.b.delay("Adopt", slow)
			end := f.work(nil, nil)
			time.Sleep(time.Minute)
			end()
			require.InEpsilon(t, want, f.b.adopts.Load(), 0.2, slow)
		})
	}
}
