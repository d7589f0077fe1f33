// Ported to Go from ResourceLeakDetector of the Netty Project, and changed.
// Copyright 2013 The Netty Project. Apache License 2.0; see NOTICE.

package leak

import (
	"runtime"
	"sync/atomic"
)

// Ground rules of a Tracker.
//
// The owner of the resource calls Record and Close from any goroutine. The runtime calls
// collected once, on a goroutine of the runtime, after the resource became unreachable. A
// Scope reads the fields of a report.
//
//  1. A Tracker never refers to its resource. The runtime keeps the Tracker for the
//     cleanup, so a resource reachable from it would never be collected.
//  2. ended changes once, from false to true. If Close changes it, the resource was
//     released; if collected does, it leaked. No resource is both, and Close returns
//     true at most once.
//  3. A Record that races with the end may or may not be kept. It is never read.
//
// One race remains: if the owner discards the last reference to the resource before the
// call of Close, collected may come first, and the report is correct. CloseFor keeps the
// resource reachable until Close returns.

// Tracker watches one resource until the release. The methods are safe for concurrent use
// and never block; on a nil Tracker they do nothing. Tracker is a port of Netty's
// ResourceLeakTracker.
type Tracker struct {
	core     *core           // Immutable after Track.
	detailed bool            // records have stacks. Immutable after Track.
	scopes   []*Scope        // scopes that count the resource. Immutable after Track.
	created  []uintptr       // stack of the call of Track. Immutable after Track.
	cleanup  runtime.Cleanup // zero if only scopes track the resource. Immutable after Track; read by Close.
	records  trail           // Atomic: written by Record and Close, read by reports.
	ended    atomic.Bool     // Atomic: written once, by Close or collected, read by Record.
}

// Record adds an access to the resource's report: the hint, unless it is nil, and at
// [LevelAdvanced] and above the place of the call. The last access is always kept;
// [Options].TargetRecords limits the number of the others.
//
// Record turns the hint into text immediately and does not keep it. The hint may change
// later and may refer to the resource. A pointer without a String or Error method appears
// as its type, because the target may be changing. A panic of the hint's methods is
// harmless and appears in the report.
//
// On a nil Tracker, Record costs one comparison. Otherwise Record formats the hint and
// allocates once; at LevelAdvanced and above, Record also captures the stack, with another
// allocation.
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
	t.records.add(r, t.core.targetRecords())
}

// Detailed reports whether records have stacks, as at [LevelAdvanced] and above. An owner
// with many cheap accesses can call Detailed before each Record, so that
// [LevelSimple] does not slow them down. It returns false on a nil Tracker.
func (t *Tracker) Detailed() bool { return t != nil && t.detailed }

// Close marks the resource as released and returns true. Close returns false if the
// resource is already released or reported as leaked, and on a nil Tracker.
//
// The resource must stay reachable until Close returns; otherwise the collector may report
// a leak first. A method of the resource keeps the resource reachable only until the last
// use of the receiver. Use CloseFor, or call [runtime.KeepAlive] after Close.
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

// CloseFor is like Close, but keeps resource, the argument of Track, reachable until
// CloseFor returns. Netty's close(trackedObject) has an argument for the same reason.
func (t *Tracker) CloseFor(resource any) bool {
	closed := t.Close()
	runtime.KeepAlive(resource)
	return closed
}

// collected is the cleanup. The runtime calls collected after the resource of t was
// collected.
func collected(t *Tracker) {
	if t.ended.CompareAndSwap(false, true) { // Linearization point of the leak.
		t.core.leaked(t.report(""))
	}
}
