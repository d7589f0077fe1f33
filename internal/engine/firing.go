package engine

import (
	"sync/atomic"
	"unsafe"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cacheline"
	"github.com/hashedwheel/hwt/internal/engine/store"
)

// maxSpareCap bounds the room that notices and due keep from one tick to the next.
const maxSpareCap = 1 << 14

// firing is the users' code of a tick: notices first, then the tasks of due timeouts.
// Guarded by Core.mu, and constant while it runs (W5), except for atomic fields.
type firing struct {
	timer       *setup        // Immutable after New.
	notices     []*Timeout    // cancelled, with tasks to notify
	due         []*store.Node // timeouts that expire now
	now         int64         // the time by which deadlines expire. Worker only.
	running     bool          // the worker is running notices and due. Written by the worker, so it may read it without mu.
	goesOn      bool          // a timeout of due was reset and did not expire, or is an event. Worker only.
	noticeIndex atomic.Int64  // the number of notices that have begun. Atomic: written by the worker, read by its watchdog.
	dueIndex    atomic.Int64  // the number of due timeouts that have begun. Atomic: as noticeIndex.
	expired     atomic.Int64  // timeouts that have expired. Atomic: written by the worker, read by all.
	noticed     atomic.Int64  // notices that were given, or are about to be. Atomic: written by the worker and notifyLate, read by Shutdown.
	timing      timing        // see there.
	watchdog    watchdog      // Guarded by mu.
}

// progress is a place in the worker's course through a tick.
type progress struct{ notices, due int64 }

// begin prepares the run of notices and due, whose deadlines are not after now. It
// returns false if there are none.
func (f *firing) begin(now int64) bool {
	if len(f.notices)+len(f.due) == 0 {
		return false
	}
	f.running, f.now = true, now
	f.noticeIndex.Store(0)
	f.dueIndex.Store(0)
	f.watchdog.begin()
	return true
}

// run runs the users' code of this tick. A task that ends the goroutine does not run
// again: the next worker calls run and continues behind it.
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

// notify calls the Cancelled method of the task of t, which Cancel ended.
func (f *firing) notify(t *Timeout) {
	f.noticed.Add(1)
	f.timer.released(1) // first, since the notice may end the goroutine
	f.timer.runner.Cancelled(t, t.task)
}

// fire expires t and runs its task, unless Cancel, Reset or Stop came first.
func (f *firing) fire(t *Timeout) {
	w, ok := t.state.expire(f.now)
	f.goesOn = f.goesOn || t.isEvent() || !w.HasEnded() && !ok // (E5); reset since it was collected
	if ok {
		f.expired.Add(1)
		f.timing.noteLate(w.Deadline())
		f.timer.limit.Give(1)
		f.timer.runner.Run(t.handle(), t.task)
	}
}

// prefetchTask asks for the memory of the task at i of due.
func (f *firing) prefetchTask(i int) {
	if i < len(f.due) {
		cacheline.PrefetchPair(dataOf(timeoutOf(f.due[i]).task))
	}
}

// dataOf returns the second word of an interface value: where its data is.
func dataOf(task hwt.TimerTask) unsafe.Pointer {
	return (*[2]unsafe.Pointer)(unsafe.Pointer(&task))[1]
}

// progress returns where the worker is. The zero value is before its start.
func (f *firing) progress() progress {
	due := f.dueIndex.Load() // first: once it moves, noticeIndex is at the end
	return progress{f.noticeIndex.Load(), due}
}

// at returns the timeout whose task began last at p, which is not zero.
func (f *firing) at(p progress) *Timeout {
	if p.due > 0 {
		return timeoutOf(f.due[p.due-1])
	}
	return f.notices[p.notices-1]
}

// end ends the run. It returns the timeouts of due if one of them may be pending, or is an
// event. Guarded by mu.
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

func emptied[T any](list []*T) []*T {
	if cap(list) > maxSpareCap {
		return nil
	}
	clear(list)
	return list[:0]
}
