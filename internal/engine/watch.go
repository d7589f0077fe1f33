package engine

import (
	"fmt"
	"time"
)

// slowLogEvery is the least time between two warnings of slow tasks.
const slowLogEvery = time.Minute

// watch finds tasks that hold the worker for too long, and tells while they
// still do: a task that never returns is worth telling most. It costs nothing a
// task, since it looks on from a timer of its own, which is armed only while
// users' code runs.
//
// The looks follow one another in eighths of the threshold; so a task is found
// that holds the worker for 9/8 of it, and never one that holds it for less.
// While a task is stuck the looks grow rare.
//
// Guarded by Core.mu.
type watch struct {
	threshold int64 // in nanoseconds; 0 if nobody watches. Immutable after New.
	timer     *time.Timer
	seen      int64 // position at the latest look
	since     int64 // when it was first seen there
	found     bool  // seen was found slow
	logged    bool  // a warning was logged, at loggedAt
	loggedAt  int64
}

// slowTask is a task found to be slow. The zero value is none.
type slowTask struct {
	timeout *Timeout
	held    time.Duration
	log     bool // the latest warning is long enough ago
}

func (c *Core) beginWatch() {
	w := &c.watch
	if w.threshold == 0 {
		return
	}
	w.seen, w.since, w.found = 1, c.now(), false
	if first := time.Duration(w.threshold/8 + 1); w.timer == nil {
		w.timer = time.AfterFunc(first, c.look)
	} else {
		w.timer.Reset(first)
	}
}

// look runs on a goroutine of its own.
func (c *Core) look() {
	c.mu.Lock()
	var slow slowTask
	if c.firing && c.wheel != nil {
		slow = c.observe()
		held := c.now() - c.watch.since
		c.watch.timer.Reset(time.Duration(max(held, c.watch.threshold)/8 + 1))
	}
	c.mu.Unlock()
	slow.report(c)
}

func (c *Core) endWatch() (slow slowTask) {
	if c.watch.threshold == 0 {
		return slow
	}
	c.watch.timer.Stop()
	return c.observe()
}

func (c *Core) observe() (slow slowTask) {
	w, now, at := &c.watch, c.now(), c.position.Load()
	if at != w.seen || at == 0 { // At 0 the worker has yet to begin.
		w.seen, w.since, w.found = at, now, false
		return slow
	}
	if w.found || now-w.since < w.threshold {
		return slow
	}
	w.found = true
	c.totals.slow.Add(1)
	slow = slowTask{timeout: c.atPosition(at), held: time.Duration(now - w.since)}
	if !w.logged || now-w.loggedAt >= int64(slowLogEvery) {
		w.logged, w.loggedAt, slow.log = true, now, true
	}
	return slow
}

func (c *Core) atPosition(at int64) *Timeout {
	if i := int(at) - 1; i < len(c.told) {
		return c.told[i]
	}
	return c.due[int(at)-1-len(c.told)]
}

// report warns of the slow task, if there is one. Without mu, since the log is
// users' code too.
func (s slowTask) report(c *Core) {
	if s.log {
		c.runner.Warn("hwt: a slow task holds up the timer's worker; give it an executor or a goroutine of its own",
			"task", fmt.Sprintf("%T", s.timeout.task), "held", s.held, "threshold", time.Duration(c.watch.threshold))
	}
}
