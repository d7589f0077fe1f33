package idle_test

import (
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/idle"
)

// once is a closer that counts.
type once struct{ closed atomic.Int64 }

func (c *once) Close() error {
	c.closed.Add(1)
	return nil
}

// TestTouchExpiryCloseAndReleaseRace lets all of them meet, with timeouts of
// about the time that the loops take, and then counts: everything ends once.
func TestTouchExpiryCloseAndReleaseRace(t *testing.T) {
	for _, procs := range []int{1, 2, 4} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		for _, engine := range []engine{newTimer(t, time.Millisecond), newHierarchical(t, time.Millisecond), newRuntimeTimer(t)} {
			var told atomic.Int64
			r, err := idle.NewReaper(engine, time.Millisecond, idle.WithOnIdle(func(e idle.Event) {
				told.Add(1)
				assert.GreaterOrEqual(t, e.Idle, e.Timeout)
			}))
			require.NoError(t, err)
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() { hammer(t, r, 100*time.Millisecond) })
			}
			all.Wait()
			eventually(t, func() bool { return r.Stats().Watched == 0 && r.Stats().Closing == 0 })
			s := conserved(t, r)
			assert.Equal(t, s.Idle, told.Load())
			assert.Positive(t, s.Idle, "those left to the reaper")
			require.NoError(t, r.Close())
			assert.Zero(t, engine.Pending())
		}
	}
}

// TestATouchAtTheMomentOfExpiryCounts touches so often that some touches come in
// between the reaper's look at the latest activity and the end (L3). Those that
// it closes must have been quiet for their timeout all the same.
func TestATouchAtTheMomentOfExpiryCounts(t *testing.T) {
	const timeout = time.Microsecond // shorter than what a round of touches takes
	var early atomic.Int64
	r := newReaper(t, newRuntimeTimer(t), timeout, idle.WithOnIdle(func(e idle.Event) {
		if e.Idle < timeout {
			early.Add(1)
		}
	}))
	for range 1000 {
		watches := make([]*idle.Watch, 64)
		for i := range watches {
			watches[i] = r.Watch(&once{})
		}
		for begun := time.Now(); watches[63].Err() == nil && time.Since(begun) < 2*time.Millisecond; {
			for _, w := range watches {
				w.Touch()
			}
		}
	}
	eventually(t, func() bool { return r.Stats().Watched == 0 && r.Stats().Closing == 0 })
	assert.Zero(t, early.Load(), "of %d", r.Stats().Idle)
}

func hammer(t *testing.T, r *idle.Reaper, span time.Duration) {
	for end, first := time.Now().Add(span), true; first || time.Now().Before(end); first = false {
		things := make([]once, 100)
		watches := make([]*idle.Watch, len(things))
		for i := range things {
			watches[i] = r.Watch(&things[i])
		}
		var both sync.WaitGroup
		both.Go(func() {
			for range 200 {
				w := watches[rand.IntN(len(watches))]
				w.Touch()
				if rand.IntN(50) == 0 {
					w.SetTimeout(time.Duration(rand.IntN(3)) * 500 * time.Microsecond)
				}
			}
		})
		both.Go(func() {
			for i := range watches {
				if i%2 == 0 {
					watches[i].Release()
				}
			}
		})
		both.Wait()
		for i, w := range watches {
			if i%10 == 9 {
				continue // left for the reaper, however fast this loop is
			}
			w.Release()
			if w.Err() == nil {
				assert.Zero(t, things[i].closed.Load())
			}
		}
	}
}

// TestAReaperClosesInTheMidstOfIt closes the reaper while everything goes on.
func TestAReaperClosesInTheMidstOfIt(t *testing.T) {
	for _, closeAll := range []bool{false, true} {
		for range 6 {
			var options []idle.Option
			if closeAll {
				options = append(options, idle.WithCloseAll())
			}
			timer := newTimer(t, time.Millisecond)
			r, err := idle.NewReaper(timer, time.Millisecond, options...)
			require.NoError(t, err)
			var all sync.WaitGroup
			things := make([]once, 3000)
			all.Go(func() {
				for i := range things {
					r.Watch(&things[i])
				}
			})
			all.Go(func() { hammer(t, r, 5*time.Millisecond) })
			time.Sleep(time.Millisecond)
			require.NoError(t, r.Close())
			all.Wait()
			eventually(t, func() bool { return r.Stats().Closing == 0 })
			s := conserved(t, r)
			assert.Zero(t, s.Watched)
			assert.Zero(t, timer.Pending())
			for i := range things {
				if closeAll {
					require.EqualValues(t, 1, things[i].closed.Load())
				}
				require.LessOrEqual(t, things[i].closed.Load(), int64(1))
			}
			timer.Stop()
		}
	}
}

func TestATimerStopsInTheMidstOfIt(t *testing.T) {
	for range 20 {
		timer := newTimer(t, time.Millisecond)
		r := newReaper(t, timer, time.Millisecond, idle.WithErrorHandler(func(error) {}))
		var all sync.WaitGroup
		all.Go(func() { hammer(t, r, 5*time.Millisecond) })
		time.Sleep(2 * time.Millisecond)
		timer.Stop()
		all.Wait()
		conserved(t, r)
	}
}

// TestReadsAndWritesRaceWithTheReaper has connections talk at about the pace of
// their timeout.
func TestReadsAndWritesRaceWithTheReaper(t *testing.T) {
	r := newReaper(t, newTimer(t, time.Millisecond), 2*time.Millisecond)
	var all sync.WaitGroup
	for range 50 {
		near, far := net.Pipe()
		a, b := r.Wrap(near), r.Wrap(far)
		all.Go(func() {
			defer a.Close()
			for {
				time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
				if _, err := a.Write([]byte("x")); err != nil {
					return
				}
			}
		})
		all.Go(func() {
			defer b.Close()
			p := make([]byte, 1)
			for {
				if _, err := b.Read(p); err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	eventually(t, func() bool { return r.Stats().Closing == 0 })
	s := conserved(t, r)
	assert.Zero(t, s.Watched)
}
