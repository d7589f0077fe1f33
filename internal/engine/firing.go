package engine

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cacheline"
	"github.com/hashedwheel/hwt/internal/engine/store"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/internal/histogram"
)

// Ground rule
//
//	F1. While running is set, notices and due do not change; only the worker
//	    resets it. A timeout in due is at the spot inDue, and its state word alone
//	    decides its end. Timeouts that were reset since they were collected go back
//	    to the wheel in the step that resets running. Once phase is stopped no more
//	    ticks are processed, and due stays as it is for Stop.

// maxSpareCap bounds the room that notices and due keep from one tick to the next.
const maxSpareCap = 1 << 14

// firing is the users' code of a tick: notices first, then the tasks of due timeouts.
// Guarded by Core.mu, and constant while it runs (F1), except for atomic fields.
type firing struct {
	env         *env          // Immutable after New.
	notices     []*Timeout    // cancelled, with tasks to notify
	due         []*store.Node // timeouts that expire now
	now         int64         // the time by which deadlines expire. Worker only.
	running     bool          // the worker is running notices and due. Written by the worker, which may read the field without mu.
	goesOn      bool          // a timeout of due was reset and did not expire, or is an event. Worker only.
	noticeIndex atomic.Int64  // the number of notices that have begun. Atomic: written by the worker, read by the watchdog.
	dueIndex    atomic.Int64  // the number of due timeouts that have begun. Atomic: as noticeIndex.
	expired     atomic.Int64  // timeouts that have expired. Atomic: written by the worker, read by all.
	noticed     atomic.Int64  // notices that were given, or are about to be. Atomic: written by the worker and notifyLate, read by Shutdown.
	timing      timing        // see there.
	watchdog    watchdog      // Guarded by mu.
}

// progress is a place in the worker's course through a tick.
type progress struct{ notices, due int64 }

func (f *firing) init(env *env, mu *sync.Mutex, errands *errands, slowTask time.Duration) {
	f.env = env
	f.watchdog = watchdog{mu: mu, firing: f, errands: errands, threshold: int64(slowTask)}
}

// begin prepares the run of notices and of due. No deadline in due is after now. begin
// returns false if both are empty. Guarded by mu.
func (f *firing) begin(notices []*Timeout, due []*store.Node, now int64) bool {
	f.notices, f.due = notices, due
	if len(notices)+len(due) == 0 {
		return false
	}
	f.running, f.now = true, now
	f.noticeIndex.Store(0)
	f.dueIndex.Store(0)
	f.watchdog.begin()
	return true
}

// run runs the users' code of this tick. A task that ends the goroutine does not run again:
// the next worker calls run and continues behind that task.
func (f *firing) run() {
	for i := int(f.noticeIndex.Load()); i < len(f.notices); i++ {
		f.beginTask()
		f.noticeIndex.Store(int64(i + 1))
		f.notify(f.notices[i])
	}
	for i := int(f.dueIndex.Load()); i < len(f.due); i++ {
		f.beginTask()
		f.dueIndex.Store(int64(i + 1))
		f.prefetchTask(i + prefetchAhead)
		f.fire(timeoutOf(f.due[i]))
	}
	f.endTiming()
}

// notify calls the Cancelled method of the task of a timeout that Cancel ended.
func (f *firing) notify(t *Timeout) {
	f.countNotice()
	f.env.limit.Release(1) // first, since the notice may end the goroutine
	f.env.runner.Cancelled(t, t.task)
}

// fire expires t and runs the task, unless Cancel, Reset or Stop came first.
func (f *firing) fire(t *Timeout) {
	w, ok := t.state.expire(f.now)
	f.goesOn = f.goesOn || t.isEvent() || !w.HasEnded() && !ok // (E5); reset since the collection
	if ok {
		f.expired.Add(1)
		f.timing.noteLate(w.Deadline())
		f.env.limit.Give(1)
		f.env.runner.Run(t.handle(), t.task)
	}
}

// prefetchTask asks for the memory of the task at i of due.
func (f *firing) prefetchTask(i int) {
	if i < len(f.due) {
		cacheline.PrefetchPair(dataOf(timeoutOf(f.due[i]).task))
	}
}

// dataOf returns the second word of an interface value: the address of the data.
func dataOf(task hwt.TimerTask) unsafe.Pointer {
	return (*[2]unsafe.Pointer)(unsafe.Pointer(&task))[1]
}

// progress returns where the worker is. The zero value is before the start.
func (f *firing) progress() progress {
	due := f.dueIndex.Load() // first: once dueIndex moves, noticeIndex is at the end
	return progress{f.noticeIndex.Load(), due}
}

// at returns the timeout that began last at p. p must not be zero.
func (f *firing) at(p progress) *Timeout {
	if p.due > 0 {
		return timeoutOf(f.due[p.due-1])
	}
	return f.notices[p.notices-1]
}

// end ends the run. end returns the timeouts of due if any may be pending, or is an event.
// Guarded by mu.
func (f *firing) end() (goOn []*store.Node) {
	f.running = false
	f.watchdog.end()
	f.notices = emptied(f.notices)
	if f.goesOn {
		f.goesOn = false
		return f.due
	}
	return nil
}

// clearDue empties due. Guarded by mu.
func (f *firing) clearDue() { f.due = emptied(f.due) }

// dropDue discards due after Stop has ended its timeouts, unless the worker is running due
// (F1). Guarded by mu.
func (f *firing) dropDue() {
	if !f.running {
		f.due = nil
	}
}

// countNotice counts a notice before the call of the task.
func (f *firing) countNotice() { f.noticed.Add(1) }

func emptied[T any](list []*T) []*T {
	if cap(list) > maxSpareCap {
		return nil
	}
	clear(list)
	return list[:0]
}

const (
	// maxTimed is the greatest number of tasks that share a reading of the clock.
	maxTimed = 64

	// timedFor is the time for which tasks may share a reading. After longer tasks, the
	// next task is timed alone.
	timedFor = 100 * time.Microsecond

	// A greatest value is kept for each of the latest intervals, so that the maximum falls
	// again after a minute.
	interval  = int64(6 * time.Second)
	intervals = 10
)

// timing counts the lateness and the duration of tasks. The worker reads the clock for
// a batch of tasks and publishes the results with the next batch, so that a task costs
// no atomic operation.
type timing struct {
	// Worker only.
	size    int                       // tasks in the batch
	begun   int                       // the number of tasks that have begun
	next    int                       // tasks in the next batch
	late    [histogram.Buckets]uint32 // lateness not yet published
	touched uint64                    // a bit for each bucket in which there is some
	sum     int64                     // of all that is not yet published
	at      int64                     // when the batch began

	// Atomic: written by the worker, read by Stats.
	counts [histogram.Buckets]atomic.Int64
	total  atomic.Int64 // of all lateness
	busy   atomic.Int64 // time in tasks

	slowest [intervals]atomic.Pointer[slowest] // Atomic: written by the worker and the watchdog.
}

// slowest is the slowest task of an interval.
type slowest struct {
	interval int64
	took     int64
	task     enginekit.TaskKey
}

// beginTask makes sure that the task that begins now has a reading of the clock.
func (f *firing) beginTask() {
	if f.timing.begun == f.timing.size {
		f.beginBatch()
	}
	f.timing.begun++
}

func (f *firing) beginBatch() {
	m, now := &f.timing, f.env.clock.Now()
	f.endBatch(now)
	m.at = now
	m.size = max(m.next, 1)
}

// endTiming ends the batch after the last task.
func (f *firing) endTiming() {
	f.endBatch(f.env.clock.Now())
	f.timing.size = 0
}

// endBatch publishes the lateness of the current batch. endBatch does nothing if no batch
// is open.
func (f *firing) endBatch(now int64) {
	m := &f.timing
	if m.begun == 0 {
		return
	}
	took := now - m.at
	m.busy.Add(took)
	if m.begun == 1 {
		m.noteSlow(now, took, f.at(f.progress()).task)
	}
	m.publish()
	if m.next = 1; took < int64(timedFor) {
		m.next = min(2*m.size, maxTimed)
	}
	m.begun = 0
}

// noteLate records the lateness of a task that begins.
func (m *timing) noteLate(deadline int64) {
	late := m.at - deadline
	i := histogram.BucketOf(late)
	m.late[i]++
	m.touched |= 1 << i
	m.sum += late
}

// publish shows the lateness of a batch to readers.
func (m *timing) publish() {
	for ; m.touched != 0; m.touched &= m.touched - 1 {
		i := bits.TrailingZeros64(m.touched)
		m.counts[i].Add(int64(m.late[i]))
		m.late[i] = 0
	}
	m.total.Add(m.sum)
	m.sum = 0
}

// noteSlow records a task and its duration, if the duration is the longest of the interval.
// now is negative in a synctest bubble, in which Stop of a timer outside may start a
// worker.
func (m *timing) noteSlow(now, took int64, tt hwt.TimerTask) {
	slot := &m.slowest[uint64(now/interval)%intervals]
	if s := slot.Load(); s == nil || s.interval != now/interval || s.took < took {
		slot.Store(&slowest{now / interval, took, enginekit.KeyOf(tt)})
	}
}

func (m *timing) addTo(s *hwt.Stats, now int64) {
	for i := range m.counts {
		s.Lateness.Counts[i] += m.counts[i].Load()
	}
	s.Lateness.Sum += time.Duration(m.total.Load())
	s.TaskTime += time.Duration(m.busy.Load())
	for i := range m.slowest {
		seen := m.slowest[i].Load()
		if seen != nil && isRecent(seen.interval, now) && time.Duration(seen.took) > s.SlowestTaskTime {
			s.SlowestTask, s.SlowestTaskTime = seen.task.Name(), time.Duration(seen.took)
		}
	}
}

// isRecent reports whether the interval is one of the latest.
func isRecent(i, now int64) bool { return i <= now/interval && i > now/interval-intervals }

const (
	// slowLogEvery is the least time between two warnings of slow tasks.
	slowLogEvery = time.Minute

	// secondLookAfter is the number of times that the second look lets other goroutines
	// run first. Once is not enough: there is more than one run queue.
	secondLookAfter = 10

	// longestWait is longer than a worker usually waits for a processor.
	longestWait = time.Second
)

// watchdog finds tasks that hold the worker for too long while the tasks still run, since a
// task that never returns matters most. A task costs nothing: a separate timer, which is armed
// only while users' code runs, looks at the worker's position.
//
// The looks follow one another in eighths of the threshold, and grow rare while a task is
// stuck. The watchdog never finds a task that holds the worker for less than the threshold. A
// task that holds the worker for 9/8 of the threshold is suspect. The watchdog looks again
// after the processors have run all other ready goroutines: a worker that merely waited for a
// processor has then moved on.
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
	since     int64        // when the worker was first seen there
	dueAt     int64        // when the next look is due
	starved   int64        // total lateness of the looks since then
	found     watchSpot    // the latest at which a slow task was found
	logged    bool         // a warning was logged, at loggedAt
	loggedAt  int64
}

// watchSpot is a place in the worker's course. The zero value is before the start.
type watchSpot struct {
	round int64
	progress
}

// slowTask is a task found to be slow. The zero value stands for no task.
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
	w.spot, w.since, w.starved = watchSpot{w.round, first}, w.firing.env.clock.Now(), 0
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

// firstLook returns the position of the worker if the task may be slow and is not known to
// be slow. Otherwise firstLook returns the zero spot.
func (w *watchdog) firstLook() (suspect watchSpot) {
	f := w.firing
	w.mu.Lock()
	defer w.mu.Unlock()
	if !f.running {
		return suspect
	}
	now := f.env.clock.Now()
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
	now := f.env.clock.Now()
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
	runner := w.firing.env.runner
	message := "hwt: slow task is blocking the timer's worker; set Options.Executor"
	if runner.HandsOver(s.timeout.task) {
		message = "hwt: executor is blocking the timer's worker; its Execute should return an error when it is full"
	}
	runner.Warn(message,
		enginekit.AttrTask, enginekit.TaskName(s.timeout.task), enginekit.AttrHeld, s.held,
		enginekit.AttrThreshold, time.Duration(w.threshold), enginekit.AttrStarved, s.starved)
}

// errands are the runtime timers of a worker that call functions. On a busy machine, the
// goroutine of such a call may begin long after its time. Stop waits for it: see
// worker.checkDone.
type errands struct {
	out  atomic.Int64 // errands that are set, and calls that have not ended. Atomic: written by all.
	none func()       // called when out becomes 0. Immutable after New.
}

// errand is a runtime timer that calls a function when it is due.
type errand struct {
	timer *time.Timer
	all   *errands
}

func (a *errands) init(none func()) { a.none = none }

// make returns an errand that is not set.
func (a *errands) make(f func()) errand {
	timer := time.AfterFunc(forever, func() {
		defer a.end()
		f()
	})
	timer.Stop()
	return errand{timer, a}
}

// end counts an errand that is no longer set, or a call that has ended.
func (a *errands) end() {
	if a.out.Add(-1) == 0 {
		a.none()
	}
}

// Reset sets the errand to d from now. If it was set already, it is due once.
func (e errand) Reset(d time.Duration) {
	e.all.out.Add(1) // first, since it may be due immediately
	if e.timer.Reset(d) {
		e.all.end()
	}
}

// Stop makes sure that the errand is not set. It reports whether it was.
func (e errand) Stop() bool {
	was := e.timer.Stop()
	if was {
		e.all.end()
	}
	return was
}
