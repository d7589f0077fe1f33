package engine

import "time"

// sleeper is the place where a worker sleeps. Each worker has one, so a worker that was
// relieved takes nothing from the next.
type sleeper struct {
	alarm    *time.Timer   // wakes the worker. Set under Core.mu.
	relief   *time.Timer   // has another worker take over a little later. Set under Core.mu.
	token    chan struct{} // holds a token from a caller that woke the worker
	relieved chan struct{} // closed when another worker took over
}

func newSleeper(c *Core) *sleeper {
	s := &sleeper{
		alarm:    time.NewTimer(forever),
		token:    make(chan struct{}, 1),
		relieved: make(chan struct{}),
	}
	s.relief = time.AfterFunc(forever, func() { c.relieve(s) })
	s.stop()
	return s
}

// set sets the alarm to go off after d, and the relief to come after late. The
// alarm takes at least a nanosecond, because Go 1.25 hangs in a synctest bubble when
// a timer with a channel is reset to the present.
func (s *sleeper) set(d, late time.Duration) {
	s.alarm.Reset(max(d, 1))
	s.relief.Reset(late)
}

// stop stops the alarm and the relief.
func (s *sleeper) stop() {
	s.alarm.Stop()
	s.relief.Stop()
}

// wake wakes the worker, or keeps it from falling asleep. It does not block.
func (s *sleeper) wake() {
	select {
	case s.token <- struct{}{}:
	default: // the token that is there wakes it
	}
}

// sleep sleeps until the alarm goes off or a caller wakes the worker, the timer is
// stopped or another worker takes over.
func (s *sleeper) sleep(quit <-chan struct{}) {
	select {
	case <-s.alarm.C:
	case <-s.token:
	case <-s.relieved:
	case <-quit:
	}
}

// relieve replaces a worker that should have woken but did not get to run, because
// it waits its turn behind many goroutines. The new worker is this goroutine, which
// was made a moment ago, and which the scheduler runs next. It leaves alone a
// worker that runs tasks, however long they take.
func (c *Core) relieve(s *sleeper) {
	if !c.mu.TryLock() { // the worker is at work, or a caller that leaves it asleep
		time.AfterFunc(time.Duration(c.onTime()), func() { c.relieve(s) }) // s.relief may have been set anew
		return
	}
	if c.worker.sleeper.Load() != s || !c.schedule.sleeping || c.timer.now() < c.schedule.expected || c.signal.phase.Load() == stopped {
		c.mu.Unlock()
		return
	}
	next := newSleeper(c)
	c.worker.sleeper.Store(next)
	close(s.relieved)
	c.worker.workers.Add(1)
	c.mu.Unlock()
	runWorker(c, next)
}
