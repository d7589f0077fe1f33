// Package idle closes network connections that have been silent for too long.
//
//	reaper, err := idle.New(timer, time.Minute, nil)
//	if err != nil {
//		return err
//	}
//	defer reaper.Close()
//	return server.Serve(reaper.Listener(listener))
//
// Use it in servers and proxies with many connections. The usual way, a call of
// SetReadDeadline before each read, takes a lock and resets a timer each time.
// Here a read only records the time, with one compare-and-swap. All connections
// share a few timeouts of an [hwt.Timer]. To limit a single read or write, use a
// deadline; both work side by side.
//
// [Reaper.Listener] and [Reaper.Wrap] watch connections. [Reaper.Watch] watches
// anything else with a Close method, such as a session; its user calls
// [Watch.Touch].
//
// # Activity
//
// A read or write of a wrapped connection of at least one byte is activity.
// [Options.Activity] selects reads, writes, or both. Waiting in Read is not activity. A
// handler that works longer than the timeout without moving a byte must hold the
// connection: see [WatchOf] and [Watch.Hold]. Package idlehttp holds the connections of
// net/http servers.
//
// A long write to a stream is split into pieces of 4 to 64 KiB, and so are the
// transfers of io.Copy. Each piece counts. A transfer is idle only if the peer
// takes less than 1 KiB/s, or less than 4 KiB in the whole timeout. A transfer
// from a connection moves the bytes that have arrived, so one byte counts.
//
// A full send buffer accepts bytes again when a third of the buffer is free. On Linux the
// buffer may grow to 4 MB. A peer that takes less than a third of the buffer in the timeout
// is closed, as with a write deadline. SetWriteBuffer limits the buffer.
//
// # Guarantees
//
// The reaper closes a connection no earlier than the idle timeout after the last activity.
// The close begins at most one tick of the timer later, unless 256 other closes are
// blocked. A touch and the end of a watch compete for one atomic word: if the touch wins,
// the connection stays open; otherwise it is closed.
//
// Closes and [Options.OnExpire] never run on the timer's worker, because a close may block: for
// a linger time, or because a TLS close_notify waits for a peer that does not read. They run on
// up to 256 goroutines. The goroutines exist only while connections are waiting to be closed. A
// blocked close delays no other close until 256 are blocked.
//
// At [Options.MaxAge], a connection is closed even if a request is in progress. With
// [Options.MaxAgeGrace], the reaper waits until the connection has neither been held nor moved
// a byte for 100 ms, but no longer than the grace period.
//
// After the timer is stopped, the reaper closes nothing, except in a scan that was due or
// waits for a runtime timer. While the timer is at its pending limit, the reaper uses
// runtime timers instead. If the timer's executor rejects a task of the reaper, a goroutine
// runs the task, and the timer reports the error. For this, a timer that wraps tasks must
// forward [hwt.RejectedTask].
//
// # Wrapped connections
//
// A wrapped connection has the methods SyscallConn, CloseRead, CloseWrite, ReadFrom, and
// WriteTo if the original connection has them. The method NetConn returns the original
// connection, for SetNoDelay and all other methods. Reads and writes of the original
// connection are not activity:
//
//	if w, ok := conn.(interface{ NetConn() net.Conn }); ok {
//		w.NetConn().(*net.TCPConn).SetNoDelay(false)
//	}
//
// Once the watch of a connection has ended, reads and writes are not activity any more. Both
// may still succeed until the close. [Options.OnExpire] or other closes may delay the close.
// After the reaper has closed a connection, the methods return errors that match [ErrIdle],
// [ErrTooOld], or [ErrClosed] by errors.Is, and also the connection's error, such as
// net.ErrClosed. The close itself is not a timeout: the method Timeout of [net.Error] reports
// true only if the connection's error is one, such as an expired read deadline.
//
// For TLS, wrap the TCP connection and create the *tls.Conn on top of the wrapped
// connection. Before the reaper closes a connection that carries TLS, the reaper makes all
// reads and all writes of data fail, for one second. The program closes the *tls.Conn in
// this time, as net/http does, and the close sends the close_notify alert that RFC 8446
// requires. [Options.OnExpire] and
// [Stats.Closing] do not include this second.
//
// Wrap packet connections, such as UDP, only if they are connected, as connections of net.Dial
// are. A wrapped connection is a [net.Conn], not a [net.PacketConn]. For an unconnected socket,
// use [Reaper.Watch].
//
// The method WriteTo of [net.Buffers] writes each buffer separately to a wrapped
// connection, because package net combines buffers only for its types. Use
// [WriteBuffers].
//
// io.Copy between TCP connections, or from a file or a Unix connection to a TCP
// connection, stays in the kernel. Copies to a Unix connection leave the kernel
// because of the wrapper. The same is true of copies from a wrapped Unix
// connection to anything but a wrapped TCP connection, and of io.CopyN from a
// wrapped connection to a file or to an unwrapped TCP connection.
//
// # Timer and memory
//
// Use a wheel with a coarse tick, such as one second for timeouts from ten
// seconds to hours:
//
//	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Second})
//
// A watch takes 64 bytes and a wrapped connection 96. Up to 64 watches share a
// timeout without losing precision; this adds about 10 bytes per watch.
package idle
