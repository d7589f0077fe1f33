package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/internal/enginekit"
)

const (
	// slowLogEvery is the least time between two warnings of slow tasks.
	slowLogEvery = time.Minute

	// secondLookAfter is the number of times that the second look lets other goroutines
	// run first. Once is not enough: there is more than one run queue.
	secondLookAfter = 10

	// longestWait is longer than a worker usually waits for a processor.
	longestWait = time.Second
)

// watchdog finds tasks that hold the worker for too long while they still do,
// since the one that never returns matters most. A task costs nothing: a separate timer,
// which is armed only while users' code runs, looks at the worker's position.
//
// The looks follow one another in eighths of the threshold, and grow rare while a
// task is stuck. A task that holds the worker for less than the threshold is never
// found. One that holds it for 9/8 of that is suspect, and found if the worker
// still is there at a second look, after the processors ran whatever else was
// ready: a worker that merely waits for a processor has moved on by then.
//
// If the operating system takes the processor from the worker's thread, a fast task
// seems slow. The looks then come late, too, and the warning says by how much.
//
// Guarded by Core.mu.
type watchdog struct {
	mu        *sync.Mutex  // Core.mu. Immutable after New.
	firing    *firing      // that it watches. Immutable after New.
	slow      atomic.Int64 // tasks found to be slow. Atomic: written by the watchdog, read by Stats.
	threshold int64        // in nanoseconds; 0 if off. Immutable after New.
	errands   *errands     // of the worker. Immutable after New.
	errand    *errand      // calls look; nil before the first run
	round     int64        // how often firing began
	spot      watchSpot    // where the worker was at the latest look
	since     int64        // when it was first seen there
	dueAt     int64        // when the next look is due
	starved   int64        // total lateness of the looks since then
	found     watchSpot    // the latest at which a slow task was found
	logged    bool         // a warning was logged, at loggedAt
	loggedAt  int64
}

// watchSpot is a place in the worker's course. The zero value is before its start.
type watchSpot struct {
	round int64
	progress
}

// slowTask is a task found to be slow. The zero value is none.
type slowTask struct {
	timeout *Timeout
	held    time.Duration
	starved time.Duration
	log     bool // the latest warning is long enough ago
}

// begin starts to watch the tasks of a tick.
func (w *watchdog) begin() {
	if w.threshold == 0 {
		return
	}
	first := progress{notices: 1}
	if len(w.firing.notices) == 0 {
		first = progress{due: 1}
	}
	w.round++
	w.spot, w.since, w.starved = watchSpot{w.round, first}, w.firing.timer.now(), 0
	w.arm(w.since, w.threshold)
}

// arm sets the next look to an eighth of d after now.
func (w *watchdog) arm(now, d int64) {
	next := d/8 + 1
	w.dueAt = now + next
	if w.errand == nil {
		look := w.errands.make(w.look)
		w.errand = &look
	}
	w.errand.Reset(time.Duration(next))
}

// end stops the watch.
func (w *watchdog) end() {
	if w.threshold != 0 {
		w.errand.Stop()
	}
}

// look runs on the timer's goroutine.
func (w *watchdog) look() {
	if spot := w.firstLook(); spot != (watchSpot{}) {
		for range secondLookAfter {
			runtime.Gosched()
		}
		w.report(w.secondLook(spot))
	}
}

// firstLook returns the position of the worker if its task may be slow and is not known
// to be. Otherwise it returns the zero spot.
func (w *watchdog) firstLook() (suspect watchSpot) {
	f := w.firing
	w.mu.Lock()
	defer w.mu.Unlock()
	if !f.running {
		return suspect
	}
	now := f.timer.now()
	if spot := (watchSpot{w.round, f.progress()}); spot != w.spot || spot.progress == (progress{}) { // there the worker has not begun.
		w.spot, w.since, w.starved = spot, now, 0
	} else {
		w.starved += now - w.dueAt
		if now-w.since >= w.threshold && spot != w.found {
			suspect = spot
		}
	}
	w.arm(now, max(now-w.since, w.threshold))
	return suspect
}

// secondLook returns the task at the spot if the worker still is there.
func (w *watchdog) secondLook(spot watchSpot) (slow slowTask) {
	f := w.firing
	w.mu.Lock()
	defer w.mu.Unlock()
	now := f.timer.now()
	if !f.running || spot == w.found || spot != (watchSpot{w.round, f.progress()}) {
		return slow
	}
	w.found = spot
	w.slow.Add(1)
	slow = slowTask{timeout: f.at(spot.progress), held: time.Duration(now - w.since), starved: time.Duration(w.starved)}
	f.timing.noteSlow(now, int64(slow.held), slow.timeout.task)
	if !w.logged || now-w.loggedAt >= int64(slowLogEvery) {
		w.logged, w.loggedAt, slow.log = true, now, true
	}
	return slow
}

// inSlowTask reports whether the task that runs was found to be slow, and takes so long
// that the worker does not merely wait for a processor.
func (w *watchdog) inSlowTask() bool {
	return w.firing.running && w.found == watchSpot{w.round, w.firing.progress()} && w.dueAt-w.since > int64(longestWait)
}

// report warns of the slow task, if there is one. Without mu, since the log is
// users' code too.
func (w *watchdog) report(s slowTask) {
	if !s.log {
		return
	}
	runner := w.firing.timer.runner
	message := "hwt: slow task is blocking the timer's worker; set Options.Executor"
	if runner.HandsOver(s.timeout.task) {
		message = "hwt: executor is blocking the timer's worker; its Execute should return an error when it is full"
	}
	runner.Warn(message,
		enginekit.AttrTask, enginekit.TaskName(s.timeout.task), enginekit.AttrHeld, s.held,
		enginekit.AttrThreshold, time.Duration(w.threshold), enginekit.AttrStarved, s.starved)
}
