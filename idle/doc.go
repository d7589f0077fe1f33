// Package idle closes network connections, and other things, that went quiet.
// It needs a timer of package hwt, and next to nothing per read.
//
// The usual way is a deadline set before each read, which costs a fifth of a
// microsecond and a lock. Here a read costs a touch, which is a reading of the
// clock and one compare-and-swap, 40 ns; the reaper looks at a connection only
// when it may have become idle.
//
//	reaper, err := idle.NewReaper(timer, time.Minute)
//	...
//	server.Serve(reaper.Listener(listener))
//
// # What counts
//
// A read or write of a wrapped connection counts when it has moved at least a
// byte; WithActivity chooses which of the two. Waiting in Read is not activity,
// so a handler that works for longer than the timeout without a byte should
// touch its connection's watch, found by WatchOf, or give it a longer timeout;
// and touch it before it takes that timeout back.
// For anything but connections, Reaper.Watch returns a Watch to be touched.
//
// A long write to a stream is done in pieces, and so is a transfer by io.Copy in
// the kernel, by splice or sendfile; each piece counts. A transfer is idle only
// if the socket takes less than 1 KiB/s, or less than 4 KiB in the whole timeout.
// A transfer from a connection takes what has arrived, so there a byte counts.
//
// A socket takes nothing while its send buffer is full, and a full one takes more
// only when a third of it is free, as with a write deadline. On Linux it may grow
// to 4 MB: a peer so slow that it does not take a third of that in the timeout is
// closed, unless SetWriteBuffer makes the buffer smaller.
//
// These leave the kernel, and are read and written instead: what goes to a Unix
// connection; what goes from a wrapped Unix connection to anything but a wrapped
// TCP connection; and io.CopyN from a wrapped connection to a file, or to a TCP
// connection that is not wrapped, which do not ask the wrapper.
//
// # What is promised
//
// Nothing is closed earlier than its idle timeout after its latest activity, nor
// later than one tick of the timer more. A touch and the end race for one atomic
// word: either the touch came first and the connection stays, or the end did and
// the connection is closed.
//
// Closes, and the callback of WithOnIdle, never run on the timer's worker, since
// a close may block: for a linger time, for TLS's farewell to a peer that does
// not read. They run on goroutines of their own, 256 at most, which exist only
// while there is something to close. One that hangs holds up no other.
//
// # Which timer
//
// A wheel with a coarse tick: one of a second, for timeouts from ten seconds to
// hours.
//
//	timer, err := hashedwheel.New(hashedwheel.WithTickDuration(time.Second))
//
// A watch is 64 bytes and a wrapped connection's 96, and each about 10 bytes more
// for its share of a timeout: watches share them, 64 to one, at no loss of
// precision. A million connections that are touched every other second, with a
// timeout of ten seconds, keep a wheel busy for about 3 ms a second.
//
// If the timer is stopped, nothing is closed any more. Its limit of pending
// timeouts, if it has one, is no obstacle: see Reaper.Wrap.
package idle
