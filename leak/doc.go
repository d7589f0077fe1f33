// Package leak finds resources that are garbage-collected without being released.
// Its reports name the place that created the resource and its last accesses. It is
// a port of Netty's ResourceLeakDetector.
//
// Use it in a package that requires its users to call a Close or Stop. Create one [Detector]
// per resource type, track each resource when it is created, and close its [Tracker] when it is
// released:
//
//	var leaks = leak.NewDetector[Conn]("pool.Conn", nil)
//
//	func Open() *Conn {
//		c := &Conn{}
//		c.tracker = leaks.Track(c)
//		return c
//	}
//
//	func (c *Conn) Send(to string) { c.tracker.Record(to) }
//
//	func (c *Conn) Close() { c.tracker.CloseFor(c) }
//
// A Conn that is garbage-collected without a Close is reported to the Listener of
// [Options], or else logged:
//
//	LEAK: pool.Conn.Close() was not called before it was garbage-collected
//	Recent access records:
//	#1:
//		Hint: example.org
//		...
//	Created at:
//		...
//
// Netty reports a leak when another resource is tracked later. This package reports
// it as soon as the collector finds the resource unreachable, by
// [runtime.AddCleanup].
//
// # Tests
//
// The collector may not run before a program ends. A [Scope] needs no collection:
// it counts the open resources. A test that begins with [NewTestScope] fails if it
// leaves a resource open:
//
//	func TestPool(t *testing.T) {
//		leak.NewTestScope(t)
//		...
//
// # Levels
//
// The process-wide [Level] selects the tracked resources. Its first use reads it
// from the environment, and [SetLevel] changes it:
//
//	HWT_LEAK_DETECTION_LEVEL              disabled, simple, advanced, paranoid, or 0 to 3 (default simple)
//	HWT_LEAK_DETECTION_TARGET_RECORDS     access records kept per resource, 1 to 1024 (default 4)
//	HWT_LEAK_DETECTION_SAMPLING_INTERVAL  one resource in this many is tracked, 1 to 1073741824 (default 128)
//
// An invalid value is logged once, and the default applies.
//
// # Cost
//
// At [LevelDisabled], Track takes two atomic loads and allocates nothing. At the
// other levels, a resource that is not chosen costs one random number. Its Tracker
// is nil; methods of a nil Tracker do nothing. A chosen resource costs a captured
// stack, a cleanup, and a few hundred bytes. A detector has no goroutine, timer, or
// channel.
//
// # Owner requirements
//
// Values that outlive the resource must not refer to it; this includes the listener of
// a package-level detector. A hint may refer to it, because Record turns the hint into
// text. The resource must stay reachable until its Tracker is closed; otherwise the
// collector may report it first. [Tracker.CloseFor] keeps it reachable.
//
// To release memory or files when a resource leaks, attach a separate cleanup to it. A detector
// tracks only some of the resources, and at LevelDisabled no resource.
package leak
