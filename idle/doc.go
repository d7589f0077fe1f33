// Package idle closes network connections that have been silent for too long.
//
//	reaper, err := idle.NewReaper(timer, time.Minute, nil)
//	if err != nil {
//		return err
//	}
//	defer reaper.Close()
//	return server.Serve(reaper.Listener(listener))
//
// Use it in servers and proxies with many connections. The usual way, a call of
// SetReadDeadline before each read, takes a lock and resets a timer each time.
// Here a read only notes the time, with one compare-and-swap, and all
// connections share a few timeouts of an [hwt.Timer]. For a limit on one single
// read or write, use a deadline: the two work side by side.
//
// [Reaper.Listener] and [Reaper.Wrap] watch connections. [Reaper.Watch] watches
// anything else that has a Close method, such as a session, and its user calls
// [Watch.Touch].
//
// # Activity
//
// A read or write of a wrapped connection is activity if it moves at least one
// byte; [Options.Activity] selects which of the two count. Waiting in Read is
// not activity. A handler that works longer than the timeout without moving a
// byte must hold its connection: see [WatchOf] and [Watch.Hold]. For servers of
// net/http, package idlehttp does so.
//
// A long write to a stream is split into pieces of 4 to 64 KiB, and so are the
// transfers of io.Copy; each piece counts. A transfer is idle only if the peer
// takes less than 1 KiB/s, or less than 4 KiB in the whole timeout. A transfer
// from a connection moves what has arrived there, so one byte counts.
//
// A full send buffer accepts bytes again when a third of it is free. On Linux
// it may grow to 4 MB. A peer that does not take a third of that in the timeout
// is closed, as with a write deadline; SetWriteBuffer makes the buffer smaller.
//
// # Guarantees
//
// Nothing is closed before its timeout after its latest activity, nor later than
// one tick of the timer after that. A touch and the end race for one atomic word:
// if the touch wins, the connection stays, and otherwise it is closed.
//
// Closes and [Options.OnIdle] never run on the timer's worker, because a close
// may block: for a linger time, or because the TLS close_notify waits for a peer
// that does not read. They run on up to 256 goroutines, which exist only while
// there is something to close. A close that hangs delays no other until 256 hang.
//
// Once the timer is stopped, nothing is closed. While it is at its limit of
// pending timeouts, the reaper uses Go's own timers instead.
//
// # Wrapped connections
//
// A wrapped connection has the methods SyscallConn, CloseRead, CloseWrite,
// ReadFrom and WriteTo if the connection itself has them. Its method NetConn
// returns the connection itself, for SetNoDelay and all other methods; reads and
// writes of that are not activity:
//
//	if w, ok := conn.(interface{ NetConn() net.Conn }); ok {
//		w.NetConn().(*net.TCPConn).SetNoDelay(false)
//	}
//
// Once the reaper has closed a connection, its methods return errors that are
// [ErrIdle], [ErrTooOld] or [ErrCloseAll] by errors.Is, and also the connection's
// own, such as net.ErrClosed. They are not timeouts in the sense of [net.Error]:
// Timeout reports false, since a closed connection is of no more use.
//
// For TLS, wrap the TCP connection and put the *tls.Conn over it.
//
// Of packet connections, such as UDP, wrap only connected ones, which net.Dial
// returns: a wrapped connection is a [net.Conn] and not a [net.PacketConn]. For
// an unconnected socket use [Reaper.Watch].
//
// The method WriteTo of [net.Buffers] writes the buffers to a wrapped connection
// one by one, because package net combines them for its own types only. Use
// [WriteBuffers].
//
// io.Copy between TCP connections, or from a file or a Unix connection to a TCP
// connection, stays in the kernel. These copies stay there without a wrapper, but
// not with it: to a Unix connection; from a wrapped Unix connection to anything
// but a wrapped TCP connection; and io.CopyN from a wrapped connection to a file,
// or to a TCP connection that is not wrapped.
//
// # Timer and memory
//
// Use a wheel with a coarse tick, such as a second for timeouts from ten seconds
// to hours:
//
//	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Second})
//
// A watch takes 64 bytes and a wrapped connection 96. Up to 64 watches share a
// timeout, at no loss of precision, which adds about 10 bytes for each.
package idle
