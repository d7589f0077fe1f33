// Package leak finds resources that were dropped without being released: it
// reports them with the place that created them and what was done with them
// last. It is the port of Netty's ResourceLeakDetector.
//
// An owner makes one [Detector] for a type of resource, tracks each resource
// when it makes it, and closes the [Tracker] when the resource is released:
//
//	var leaks = leak.NewDetector[Conn]("pool.Conn")
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
// A Conn that is garbage-collected without Close is reported, on the log unless
// [WithListener] says otherwise:
//
//	LEAK: pool.Conn.Close() was not called before it was garbage-collected
//	Recent access records:
//	#1:
//		Hint: example.org
//		...
//	Created at:
//		...
//
// Where Netty reports a leak only when something else is tracked later, the
// report here comes as soon as the collector found the resource unreachable, by
// [runtime.AddCleanup]. Before the program ends, the collector may well not
// have looked: use a [Scope] in tests, which counts what is open and needs no
// collection.
//
// # Levels
//
// What is tracked is up to the process-wide [Level]; see there. It is read from
// the environment when it is first needed, and [SetLevel] changes it:
//
//	HWT_LEAK_DETECTION_LEVEL              disabled, simple, advanced, paranoid, or 0 to 3; simple
//	HWT_LEAK_DETECTION_TARGET_RECORDS     access records kept per resource, 1 to 1024; 4
//	HWT_LEAK_DETECTION_SAMPLING_INTERVAL  one in how many is tracked, 1 to 1073741824; 128
//
// A value that cannot be used is reported once on the log, and the default
// stands.
//
// # Cost
//
// At Disabled, Track takes two atomic loads and allocates nothing. A resource
// that was not chosen costs a random number more, and its Tracker is nil, whose
// methods do nothing. A chosen one costs about a microsecond, for a stack and a
// cleanup, and a few hundred bytes. No goroutine, no timer and no channel
// belongs to a detector.
//
// # What an owner must see to
//
// Nothing that outlives the resource may refer to it: neither the listener nor
// anything else that a package-level detector holds. (Hints are no danger, they
// are turned into text when they are recorded.) And the resource must stay
// reachable until its Tracker is closed, or the collector may come first; that
// is what CloseFor is for.
//
// To release something when a resource leaks, attach a runtime.AddCleanup of
// one's own to it: a detector tracks only some of the resources, and at Disabled
// none.
package leak
