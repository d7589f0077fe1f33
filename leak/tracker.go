package leak

import (
	"runtime"
	"sync/atomic"
)

// Ground rules of a Tracker.
//
// Who may touch what: the owner of the resource calls Record and Close from any
// goroutine; the runtime calls collected once, on a goroutine of its own, after
// the resource became unreachable; a Scope reads what a report needs.
//
//  1. A Tracker never refers to its resource: the runtime keeps the Tracker for
//     the cleanup, and whatever that reaches is never collected.
//  2. ended changes once, from false to true. Who changes it decides what
//     became of the resource: Close, released; collected, leaked. So no resource
//     is both, and Close is true at most once.
//  3. A Record that races with the end may be kept or not; nobody reads it.
//
// The race that is not caught here: if the owner lets go of the resource before
// it calls Close, collected may come first and be right to report. CloseFor
// keeps the resource reachable that long.

// Tracker watches one resource until it is released. Its methods are safe for
// concurrent use and never block; on a nil Tracker they do nothing.
//
// It is Netty's ResourceLeakTracker.
type Tracker struct {
	core     *core           // Immutable after Track.
	detailed bool            // whether records have stacks. Immutable after Track.
	scopes   []*Scope        // what counts the resource. Immutable after Track.
	created  []uintptr       // where Track was called. Immutable after Track.
	cleanup  runtime.Cleanup // zero if only scopes watch. Immutable after Track; read by Close.
	records  trail           // Atomic: written by Record and Close, read by reports.
	ended    atomic.Bool     // Atomic: written once, by Close or collected, read by Record.
}

// Record notes an access to the resource, for the report to show: hint, unless
// it is nil, and from level Advanced on the place of the call. The last access
// is always kept; see WithTargetRecords for the others.
//
// The hint is turned into text at once and not kept, so it may change, and may
// refer to the resource, afterwards. A hint of pointer type without a String or
// Error method is shown by its type only, since what it points to may be
// changing. A hint that panics harms nothing and is shown as having done so.
//
// On a nil Tracker it costs one comparison. Otherwise it costs what the hint
// takes to print and an allocation, and from Advanced on another one for the
// stack and about half a microsecond.
func (t *Tracker) Record(hint any) {
	if t != nil {
		t.record(hint)
	}
}

func (t *Tracker) record(hint any) {
	if t.ended.Load() || hint == nil && !t.detailed {
		return
	}
	r := &record{hint: textOf(hint)}
	if t.detailed {
		r.stack = capture(2)
	}
	t.records.add(r, t.core.target())
}

// Detailed reports whether records have stacks, which is at Advanced and above.
// An owner whose accesses are many and cheap asks this before each Record, so
// that Simple adds nothing to them. False on a nil Tracker.
func (t *Tracker) Detailed() bool { return t != nil && t.detailed }

// Close says that the resource was released. It returns true the first time
// only, and false if the resource was reported as leaked before; on a nil
// Tracker, false.
//
// The resource must still be reachable, or the collector may have found it
// first. A method of the resource that mentions it last in the call of Close
// does not make sure of that; CloseFor does, as does runtime.KeepAlive after
// Close.
func (t *Tracker) Close() bool {
	if t == nil || !t.ended.CompareAndSwap(false, true) { // Linearization point of Close.
		return false
	}
	t.cleanup.Stop()
	for _, s := range t.scopes {
		s.leave(t)
	}
	t.records.clear()
	return true
}

// CloseFor is Close that keeps resource, the pointer given to Track, reachable
// until it is done. Netty's close(trackedObject) has its argument for the same
// reason.
func (t *Tracker) CloseFor(resource any) bool {
	closed := t.Close()
	runtime.KeepAlive(resource)
	return closed
}

// collected is the cleanup: the resource of t is gone.
func collected(t *Tracker) {
	if t.ended.CompareAndSwap(false, true) { // Linearization point of the leak.
		t.core.leaked(t.report(""))
	}
}

// enter has the resource counted in scopes.
func (t *Tracker) enter(scopes []*Scope) {
	for _, s := range scopes {
		s.enter(t)
	}
}
