package engine

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

func TestStopWaitsForTheTaskThatRuns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		over := false
		e.after(t, tick, func() {
			time.Sleep(time.Second)
			over = true
		})
		pass(tick)
		begin := time.Now()
		e.Stop()
		assert.True(t, over)
		assert.Equal(t, time.Second, time.Since(begin))
		assert.Empty(t, e.log.take())
	})
}

func TestStopTakesOverWhileATaskIsBlockedAndGivesUpInTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		release := make(chan struct{})
		var ran atomic.Int64
		block := func() { ran.Add(1); <-release }
		due := []*Timeout{e.after(t, tick, block), e.after(t, tick, block)} // one runs, and the other is behind it
		waiting := e.after(t, time.Hour, nothing)
		pass(tick)
		fresh := e.after(t, time.Hour, nothing)

		blocked, behind := due[0], due[1]
		if behind.IsExpired() {
			blocked, behind = behind, blocked
		}

		begin := time.Now()
		assert.ElementsMatch(t, []hwt.Timeout{behind, waiting, fresh}, e.Stop())
		assert.Equal(t, 5*time.Second, time.Since(begin))
		assert.Contains(t, e.log.take(), "gave up waiting")
		assert.True(t, blocked.IsExpired())
		assert.True(t, behind.IsCancelled())
		close(release)
		synctest.Wait()
		assert.EqualValues(t, 1, ran.Load(), "ran after Stop")
		select {
		case <-e.core.done:
		default:
			assert.Fail(t, "the worker did not end with its task")
		}
		e.balanced(t)
	})
}

func TestStopThatDoesNotWaitSaysNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for range 20 {
			e := newTimer(t, func(c *Config) { c.StopWait = 0 })
			e.after(t, tick, func() { time.Sleep(time.Minute) })
			pass(tick)
			begin := time.Now()
			assert.Empty(t, e.Stop())
			assert.Equal(t, begin, time.Now())
			assert.Empty(t, e.log.take())
		}
		pass(time.Hour)
	})
}

func TestStopFromTheWorkerWaitsForNobody(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		waiting := e.after(t, time.Hour, nothing)
		var got []hwt.Timeout
		var ran atomic.Int64
		stop := func() {
			ran.Add(1)
			defer func() {
				begin := time.Now()
				got = e.Stop()
				assert.Equal(t, begin, time.Now())
			}()
			runtime.Goexit() // and the worker is another one afterwards
		}
		due := []*Timeout{e.after(t, tick, stop), e.after(t, tick, stop)}
		pass(time.Hour)
		behind := due[0]
		if behind.IsExpired() {
			behind = due[1]
		}
		assert.ElementsMatch(t, []hwt.Timeout{waiting, behind}, got)
		assert.EqualValues(t, 1, ran.Load(), "ran after Stop")
		<-e.core.done
	})
}

func TestEveryStopWaitsForTheWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.after(t, tick, func() { time.Sleep(time.Second) })
		pass(tick)
		begin := time.Now()
		var stops sync.WaitGroup
		for range 5 {
			stops.Go(func() {
				e.Stop()
				assert.Equal(t, time.Second, time.Since(begin))
			})
		}
		stops.Wait()
	})
}

// due brings a timer whose worker is the test to the point at which what was
// scheduled so far is due, and about to be fired.
func (e *timer) due(t *testing.T) {
	t.Helper()
	time.Sleep(tick)
	require.True(t, e.core.prepare(e.core.now()))
	require.True(t, e.core.firing)
}

// The timeout is in no queue and no bucket when Stop comes to look.
func TestTimeoutResetWhileDueIsNotLostToAStopThatCameBetween(t *testing.T) {
	for name, reset := range map[string]func(*Timeout){
		"to later":              func(timeout *Timeout) { timeout.Reset(time.Hour) },
		"to later, then sooner": func(timeout *Timeout) { timeout.Reset(2 * time.Hour); timeout.Reset(time.Hour) },
	} {
		inBubble(t, func(t *testing.T) {
			e := newIdleTimer(t)
			timeout := e.after(t, 0, nothing)
			e.due(t)
			e.core.shut()
			reset(timeout)
			e.core.fire()
			assert.False(t, e.core.prepare(e.core.now()+int64(tick)), "no more ticks")
			assert.Equal(t, []hwt.Timeout{timeout}, e.core.takeAll(), name)
			close(e.core.taken)
			assert.Nil(t, e.core.due)
			s := e.balanced(t)
			assert.EqualValues(t, 1, s.Unprocessed)
		})
	}
}

func TestCancelThatReliedOnALatePushIsToldAllTheSame(t *testing.T) {
	for name, stop := range map[string]func(c *Core){
		"before Stop takes over": func(c *Core) { c.shut() },
		"after Stop took over": func(c *Core) {
			c.shut()
			c.takeAll()
			close(c.taken)
		},
	} {
		for _, early := range []bool{true, false} { // Cancel comes before Stop, or after
			inBubble(t, func(t *testing.T) {
				e := newIdleTimer(t)
				c := e.core
				task := new(teller)
				timeout := e.add(t, task, time.Hour)
				time.Sleep(tick)
				require.True(t, c.prepare(c.now()))
				push, _ := rearm(&timeout.life, 1) // as Reset does, which then takes its time
				require.True(t, push)
				wins := early && timeout.Cancel()
				stop(c)
				wins = wins || timeout.Cancel()
				c.pushQueued(timeout)
				if c.wheel != nil {
					c.takeAll()
					close(c.taken)
				}
				for c.takeLast() {
					c.fire()
				}
				close(c.done)
				want := [2]int{0, 0}
				if wins {
					want = [2]int{0, 1}
				}
				assert.Equal(t, want, task.counts(), "%s, early %v", name, early)
				s := e.balanced(t)
				assert.EqualValues(t, 1, s.Cancelled+s.Unprocessed)
			})
		}
	}
}

func TestCancelledIsNeverToldByTheCallerOfStop(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		lock := make(chan struct{}, 1) // not a mutex, so that fake time passes for who waits
		tasks := make([]*teller, 10)
		for i := range tasks {
			tasks[i] = &teller{then: func() {
				lock <- struct{}{}
				defer func() { <-lock }()
				if i%3 == 0 {
					runtime.Goexit()
				}
			}}
			e.add(t, tasks[i], time.Hour).Cancel()
		}
		e.after(t, time.Hour, nothing)
		lock <- struct{}{}
		assert.Len(t, e.Stop(), 1)
		<-lock
		synctest.Wait()
		for _, task := range tasks {
			assert.Equal(t, [2]int{0, 1}, task.counts())
		}
	})
}

func TestCancelOfATimerBeingStoppedLeavesTheTellingToTheWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for _, gone := range []bool{false, true} {
			e := newIdleTimer(t)
			c := e.core
			block := make(chan struct{})
			task := &teller{then: func() { <-block }}
			timeout := e.add(t, task, time.Hour)
			time.Sleep(tick)
			require.True(t, c.prepare(c.now()))
			c.shut()
			if gone {
				c.takeAll()
				close(c.taken)
				require.False(t, c.takeLast())
				w := newLife(1) // Cancel had won just before, and comes only now to tell
				cancel(&w)
				timeout.life = w
				c.tellLast(timeout)
			} else {
				require.True(t, timeout.Cancel(), "does not block")
				c.takeAll()
				close(c.taken)
				go func() {
					for c.takeLast() {
						c.fire()
					}
				}()
			}
			synctest.Wait()
			assert.Equal(t, [2]int{0, 1}, task.counts(), "gone %v", gone)
			close(block)
			synctest.Wait()
			close(c.done)
		}
	})
}

func TestUnstartedTimerStopsWithNothingLeft(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		begin := time.Now()
		assert.Empty(t, e.Stop())
		assert.Equal(t, begin, time.Now())
		<-e.core.done
		assert.Zero(t, e.Stats().WakeUps)
	})
}

// Real: only the collector can tell.
func TestTimeoutThatStopReturnedKeepsNoOthers(t *testing.T) {
	e := newTimer(t)
	e.core.phase.Store(ticking)
	b := new(Buckets)
	b.Grow(1)
	e.core.wheel = bucketWheel{b}
	close(e.core.done)
	var tasks []weak.Pointer[teller]
	func() {
		for range 5 * chunkLen {
			task := new(teller)
			tasks = append(tasks, weak.Make(task))
			e.add(t, task, time.Hour)
		}
	}()
	require.True(t, e.core.prepare(int64(tick)))
	one := e.Stop()[7].(*Timeout)
	require.Eventually(t, func() bool {
		runtime.GC()
		left := 0
		for _, task := range tasks {
			if task.Value() != nil {
				left++
			}
		}
		return left == 1
	}, 10*time.Second, time.Millisecond)
	runtime.KeepAlive(one)
}

// bucketWheel is one bucket.
type bucketWheel struct{ b *Buckets }

func (w bucketWheel) MoveTo(int64)                     {}
func (w bucketWheel) Add(t *Timeout, _ int64)          { w.b.Add(0, t, 0) }
func (w bucketWheel) Remove(t *Timeout)                { w.b.Remove(t) }
func (w bucketWheel) Prefetch([]Move)                  {}
func (w bucketWheel) Expire(due []*Timeout) []*Timeout { return due }
func (w bucketWheel) Next() int64                      { return 1 << 62 }
func (w bucketWheel) All(yield func(t *Timeout) bool)  { w.b.All(yield) }

// Real: preemption and cores, not the clock, make these races.
func TestCancelResetAndStopTellEachTaskWhatBecameOfIt(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
		e := newTimer(t, func(c *Config) { c.Tick = 50 * time.Microsecond })
		const n = 64
		tasks := make([]*teller, n)
		timeouts := make([]*Timeout, n)
		for i := range n {
			tasks[i] = new(teller)
			timeouts[i] = e.add(t, tasks[i], rand.N(200*time.Microsecond)+100*time.Microsecond)
		}
		var won [n]bool
		var unprocessed []hwt.Timeout
		var all sync.WaitGroup
		time.Sleep(rand.N(300 * time.Microsecond))
		all.Go(func() {
			for i := range n {
				won[i] = timeouts[i].Cancel()
			}
		})
		all.Go(func() {
			for i := range n {
				timeouts[i].Reset(rand.N(400 * time.Microsecond))
				timeouts[n-1-i].Reset(rand.N(100 * time.Microsecond))
			}
		})
		all.Go(func() { unprocessed = e.Stop() })
		all.Wait()
		returned := map[hwt.Timeout]int{}
		for _, timeout := range unprocessed {
			returned[timeout]++
		}
		require.Eventually(t, func() bool {
			for i := range n {
				ran, told := tasks[i].counts()[0], tasks[i].counts()[1]
				if won[i] && told == 0 || !won[i] && ran+returned[timeouts[i]] == 0 {
					return false
				}
			}
			return true
		}, 20*time.Second, 100*time.Microsecond, "a task did not run, or was not told")
		for i, task := range tasks {
			ran, told := task.counts()[0], task.counts()[1]
			cancelled := 0
			if won[i] {
				cancelled = 1
			}
			require.Equal(t, cancelled, told)
			require.Equal(t, 1, ran+cancelled+returned[timeouts[i]], "ran %d, cancelled %d, returned %d", ran, cancelled, returned[timeouts[i]])
		}
		s := e.balanced(t)
		require.Zero(t, s.Pending)
	}
}

// The worker finds that t was reset to later while it was due, and another Reset
// has set queued but not yet pushed: whoever looks for t then must find it.
func TestStopFindsWhatTwoResetsMovedWhileItWasDue(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newIdleTimer(t)
		timeout := e.after(t, tick, nothing)
		time.Sleep(tick)
		require.True(t, e.core.prepare(e.core.now()))
		require.Equal(t, []*Timeout{timeout}, e.core.due)

		require.True(t, timeout.Reset(time.Hour)) // later: only the word changes
		e.core.run(timeout)
		push, ok := rearm(&timeout.life, e.core.now()+int64(tick)) // a Reset that has yet to push
		require.True(t, push && ok)
		e.core.endFiring()

		assert.Equal(t, []hwt.Timeout{timeout}, e.Stop())
		e.core.pushQueued(timeout)
		e.balanced(t)
	})
}

func TestWhatIsResetWhileItIsDueRunsAtItsNewTime(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one stripe, so that they run in order
	inBubble(t, func(t *testing.T) {
		for _, delay := range []time.Duration{0, tick / 2, tick, 3 * tick, time.Hour} {
			e := newTimer(t)
			begin, ran := time.Now(), time.Duration(0)
			var second atomic.Pointer[Timeout]
			e.after(t, tick, func() { assert.True(t, second.Load().Reset(delay)) })
			second.Store(e.after(t, tick, func() { ran = time.Since(begin) }))
			pass(2 * time.Hour)
			want := tick + max((delay+tick-1)/tick, 0)*tick
			if delay <= 0 {
				want = tick // due all the same
			}
			assert.Equal(t, want, ran, "reset by %v", delay)
			e.Stop()
		}
	})
}
