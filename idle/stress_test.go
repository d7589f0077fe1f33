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

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/idle"
)

// once is a closer that counts.
type once struct{ closed atomic.Int64 }

func (c *once) Close() error {
	c.closed.Add(1)
	return nil
}

// TestTouchExpiryCloseAndStopRace has timeouts of about the time that its loops
// take, so that all of them meet. Every watch must end once.
func TestTouchExpiryCloseAndStopRace(t *testing.T) {
	for _, procs := range []int{1, 2, 4} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		for _, engine := range []hwt.Engine{newTimer(t, time.Millisecond), newHierarchical(t, time.Millisecond), newRuntimeTimer(t)} {
			var reported atomic.Int64
			r, err := idle.New(engine, time.Millisecond, &idle.Options{OnExpire: func(e idle.Event) {
				reported.Add(1)
				assert.GreaterOrEqual(t, e.Idle, e.Timeout)
			}})
			require.NoError(t, err)
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() { hammer(t, r, 100*time.Millisecond) })
			}
			all.Wait()
			eventually(t, func() bool { return r.Stats().Watched == 0 && r.Stats().Closing == 0 })
			s := conserved(t, r)
			assert.Equal(t, s.Idle, reported.Load())
			assert.Positive(t, s.Idle, "those that are not stopped")
			require.NoError(t, r.Close())
			assert.Zero(t, engine.Pending())
		}
	}
}

// TestTouchAtTheMomentOfExpiry touches so often that some touches come between a
// scan's load of the last activity and the end (S3). Every watch that it closes must
// have been idle for its timeout.
func TestTouchAtTheMomentOfExpiry(t *testing.T) {
	const timeout = time.Microsecond // shorter than a round of touches
	var early atomic.Int64
	r := newReaper(t, newRuntimeTimer(t), timeout, &idle.Options{OnExpire: func(e idle.Event) {
		if e.Idle < timeout {
			early.Add(1)
		}
	}})
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
	assert.Zero(t, early.Load(), "of %d that ended", r.Stats().Idle)
}

// TestIdleTimeIsNeverNegative touches between the two readings, of the clock and of the
// last activity, also when a watch reaches its maximum age.
func TestIdleTimeIsNeverNegative(t *testing.T) {
	var negative atomic.Int64
	r := newReaper(t, newRuntimeTimer(t), time.Hour, &idle.Options{MaxAge: 20 * time.Millisecond, OnExpire: func(e idle.Event) {
		if e.Idle < 0 {
			negative.Add(1)
		}
	}})
	for range 10 {
		watches := make([]*idle.Watch, 64)
		for i := range watches {
			watches[i] = r.Watch(&once{})
		}
		var toucher sync.WaitGroup
		toucher.Go(func() {
			for watches[63].Err() == nil {
				for _, w := range watches {
					w.Touch()
				}
			}
		})
		for watches[63].Err() == nil {
			for _, w := range watches {
				if w.Idle() < 0 {
					negative.Add(1)
				}
			}
		}
		toucher.Wait()
	}
	eventually(t, func() bool { return r.Stats().Watched == 0 && r.Stats().Closing == 0 })
	assert.Zero(t, negative.Load())
}

// TestHoldAtTheMomentOfExpiry begins holds when the watches are due (S5).
// A watch that had not ended when Hold returned must not end before its release,
// nor before its timeout after that.
func TestHoldAtTheMomentOfExpiry(t *testing.T) {
	const timeout = time.Microsecond
	var early atomic.Int64
	r := newReaper(t, newRuntimeTimer(t), timeout, &idle.Options{OnExpire: func(e idle.Event) {
		if e.Idle < timeout {
			early.Add(1)
		}
	}})
	held := 0
	for range 300 {
		watches := make([]*idle.Watch, 64)
		for i := range watches {
			watches[i] = r.Watch(&once{})
		}
		for _, w := range watches {
			release := w.Hold()
			if w.Err() == nil {
				held++
				for range 3 {
					runtime.Gosched()
				}
				require.NoError(t, w.Err(), "ended while held")
			}
			release()
		}
	}
	eventually(t, func() bool { return r.Stats().Watched == 0 && r.Stats().Closing == 0 })
	assert.Zero(t, early.Load(), "of %d that ended", r.Stats().Idle)
	t.Logf("%d were held", held)
}

// TestReleaseOfAHoldAtTheMomentOfExpiry releases holds during scans (S5). The whole
// timeout must follow.
func TestReleaseOfAHoldAtTheMomentOfExpiry(t *testing.T) {
	const timeout = 5 * time.Microsecond
	r := newReaper(t, newRuntimeTimer(t), timeout)
	watches := make([]*idle.Watch, 64)
	for i := range watches {
		watches[i] = r.Watch(&once{})
	}
	for range 300 {
		for i, w := range watches {
			release := w.Hold()
			if w.Err() != nil {
				watches[i] = r.Watch(&once{})
				continue
			}
			for begun := time.Now(); time.Since(begun) < 2*timeout; {
			}
			begun := time.Now()
			release()
			if w.Err() != nil {
				require.GreaterOrEqual(t, time.Since(begun), timeout)
			}
		}
	}
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
				if rand.IntN(10) == 0 {
					defer w.Hold()()
				}
				if rand.IntN(50) == 0 {
					w.SetTimeout(time.Duration(rand.IntN(3)) * 500 * time.Microsecond)
				}
			}
		})
		both.Go(func() {
			for i := range watches {
				if i%2 == 0 {
					watches[i].Stop()
				}
			}
		})
		both.Wait()
		for i, w := range watches {
			if i%10 == 9 {
				continue // for the reaper
			}
			w.Stop()
			if w.Err() == nil {
				assert.Zero(t, things[i].closed.Load())
			}
		}
	}
}

func TestCloseRacesWithEverythingElse(t *testing.T) {
	for _, closeAll := range []bool{false, true} {
		for range 6 {
			timer := newTimer(t, time.Millisecond)
			r, err := idle.New(timer, time.Millisecond, &idle.Options{CloseAll: closeAll})
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

func TestStopOfTheTimerRacesWithEverythingElse(t *testing.T) {
	for range 20 {
		timer := newTimer(t, time.Millisecond)
		r := newReaper(t, timer, time.Millisecond, &idle.Options{ErrorHandler: func(error) {}})
		var all sync.WaitGroup
		all.Go(func() { hammer(t, r, 5*time.Millisecond) })
		time.Sleep(2 * time.Millisecond)
		timer.Stop()
		all.Wait()
		conserved(t, r)
	}
}

// TestReadsAndWritesRaceWithTheReaper writes at intervals of about the timeout.
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
