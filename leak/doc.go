// Package leak finds resources that are dropped without being released. It
// reports each with the place that created it and its last accesses. It is a
// port of Netty's ResourceLeakDetector.
//
// Use it in a package whose users must call a Close or Stop: make one [Detector]
// for a type of resource, track each resource when it is made, and close its
// [Tracker] when it is released:
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
// A Conn that is garbage-collected without a Close is reported, on the log
// unless [Options] has a Listener:
//
//	LEAK: pool.Conn.Close() was not called before it was garbage-collected
//	Recent access records:
//	#1:
//		Hint: example.org
//		...
//	Created at:
//		...
//
// Netty reports a leak only when something else is tracked later. Here the
// report comes as soon as the collector finds the resource unreachable, by
// [runtime.AddCleanup].
//
// # Tests
//
// The collector may not run before a program ends. A [Scope] needs no
// collection: it counts the resources that are open. A test that begins with
// [NewTestScope] fails if it leaves one open:
//
//	func TestPool(t *testing.T) {
//		leak.NewTestScope(t)
//		...
//
// # Levels
//
// The process-wide [Level] decides what is tracked. It is read from the
// environment when it is first needed, and [SetLevel] changes it:
//
//	HWT_LEAK_DETECTION_LEVEL              disabled, simple, advanced, paranoid, or 0 to 3 (default simple)
//	HWT_LEAK_DETECTION_TARGET_RECORDS     access records kept per resource, 1 to 1024 (default 4)
//	HWT_LEAK_DETECTION_SAMPLING_INTERVAL  one resource in how many is tracked, 1 to 1073741824 (default 128)
//
// A value that cannot be used is reported once on the log, and the default
// applies.
//
// # Cost
//
// At [LevelDisabled], Track takes two atomic loads and allocates nothing. At the
// other levels, a resource that is not chosen costs one random number, and its
// Tracker is nil, whose methods do nothing. A resource that is chosen costs a
// captured stack, a cleanup and a few hundred bytes. A detector has no
// goroutine, timer or channel.
//
// # Owner requirements
//
// Nothing that outlives the resource may refer to it, including the listener of
// a package-level detector. (A hint may: it is turned into text when it is
// recorded.) The resource must stay reachable until its Tracker is closed, or
// the collector may come first; [Tracker.CloseFor] ensures that.
//
// To release something when a resource leaks, attach a cleanup of your own to
// it. A detector tracks only some of the resources, and none at LevelDisabled.
package leak
