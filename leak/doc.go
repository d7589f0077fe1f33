// Package leak finds resources that are garbage-collected without being released. A report
// names the place that created the resource, and the last accesses. The package is a port
// of Netty's ResourceLeakDetector.
//
// Use leak in a package whose users must call a Close or Stop. Create one [Detector] per
// resource type, track each new resource, and close the [Tracker] when the resource is
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
// Netty reports a leak when another resource is tracked later. This package reports the
// leak as soon as the collector finds the resource unreachable, by
// [runtime.AddCleanup].
//
// # Tests
//
// The collector may not run before a program ends. A [Scope] counts the open resources and
// needs no collection. A test that begins with [NewTestScope] fails if a resource stays
// open:
//
//	func TestPool(t *testing.T) {
//		leak.NewTestScope(t)
//		...
//
// # Levels
//
// The process-wide [Level] selects the tracked resources. The first use reads the level
// from the environment, and [SetLevel] changes the level:
//
//	HWT_LEAK_DETECTION_LEVEL              disabled, simple, advanced, paranoid, or 0 to 3 (default simple)
//	HWT_LEAK_DETECTION_TARGET_RECORDS     access records kept per resource, 1 to 1024 (default 4)
//	HWT_LEAK_DETECTION_SAMPLING_INTERVAL  one resource in this many is tracked, 1 to 1073741824 (default 128)
//
// An invalid value is logged once, and the default applies.
//
// # Cost
//
// At [LevelDisabled], Track takes two atomic loads and allocates nothing. At the other
// levels, a resource that is not chosen costs one random number. The Tracker is then nil;
// methods of a nil Tracker do nothing. A chosen resource costs a captured stack, a cleanup,
// and a few hundred bytes. A detector has no goroutine, timer, or channel.
//
// # Owner requirements
//
// Values that outlive the resource must not refer to the resource, and neither must the
// listener of a package-level detector. A hint may refer to the resource, because Record
// turns hints into text. The resource must stay reachable until the Tracker is closed;
// otherwise the collector may report a leak first. [Tracker.CloseFor] keeps the resource
// reachable.
//
// To release memory or files when a resource leaks, attach a separate cleanup to the resource.
// A detector tracks only some of the resources, and at LevelDisabled no resource.
package leak
