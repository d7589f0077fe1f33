package idle

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"time"
)

// conn is a connection and its watch, in one allocation. By itself it wraps
// connections that have nothing beyond net.Conn; the types in wrap.go add what
// others have.
type conn struct {
	net.Conn // Immutable after wrap.
	watch    Watch
	writing  sync.Mutex // held during a write that goes in pieces, so that no other write comes in between
}

func (c *conn) base() *conn { return c }

// NetConn returns the connection that was wrapped. Its reads and writes are not
// activity.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Read reads. It is activity if it returns at least one byte.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.noteRead(int64(n))
	if err != nil {
		err = c.watch.explain(err)
	}
	return n, err
}

// Write writes. It is activity if it takes at least one byte. A long write to a
// stream goes in pieces, each of which is activity. Concurrent writes wait for
// its end, as those of package net do.
func (c *conn) Write(p []byte) (n int, err error) {
	if !c.watch.pieces {
		return c.writePiece(p)
	}
	c.lockPieces()
	defer c.writing.Unlock()
	for {
		piece := p[n:min(len(p), n+c.watch.piece())]
		m, err := c.writePiece(piece)
		if n += m; err != nil || n >= len(p) || m < len(piece) {
			return n, err
		}
	}
}

func (c *conn) writePiece(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.noteWrite(int64(n))
	return n, c.watch.explain(err)
}

// lockPieces locks writing. If the watch is held, it touches it before: after a
// long silence the write that begins must have the whole idle timeout, for which
// the hold does not count.
func (c *conn) lockPieces() {
	if c.watch.holds.Load() > 0 {
		c.watch.Touch()
	}
	c.writing.Lock()
}

// isWriting reports whether a write that goes in pieces is in progress.
func (c *conn) isWriting() bool {
	if c.writing.TryLock() {
		c.writing.Unlock()
		return false
	}
	return true
}

// Close ends the watch, and closes the connection.
func (c *conn) Close() error {
	c.watch.Release()
	return c.watch.explain(c.Conn.Close())
}

// SetDeadline sets the connection's deadlines, which the reaper does not use.
func (c *conn) SetDeadline(t time.Time) error { return c.watch.explain(c.Conn.SetDeadline(t)) }

// SetReadDeadline sets the connection's read deadline.
func (c *conn) SetReadDeadline(t time.Time) error {
	return c.watch.explain(c.Conn.SetReadDeadline(t))
}

// SetWriteDeadline sets the connection's write deadline.
func (c *conn) SetWriteDeadline(t time.Time) error {
	return c.watch.explain(c.Conn.SetWriteDeadline(t))
}

func (c *conn) noteRead(n int64)  { c.note(ActivityRead, n) }
func (c *conn) noteWrite(n int64) { c.note(ActivityWrite, n) }

// note touches the watch if n bytes were moved by an operation that counts.
func (c *conn) note(a Activity, n int64) {
	if n > 0 && c.counts(a) {
		c.watch.Touch()
	}
}

func (c *conn) counts(a Activity) bool { return c.watch.shard.reaper.options.Activity&a != 0 }

// The limits of a piece, and the speed below which a transfer is idle.
const (
	minPiece = 4 << 10
	maxPiece = 64 << 10
	minSpeed = 1 << 10 // bytes a second
)

// piece returns how many bytes to move before they count: so many that a
// transfer of minSpeed moves them within the idle timeout.
func (w *Watch) piece() int {
	seconds := min(w.Timeout()/time.Second, maxPiece/minSpeed)
	return int(max(minPiece, seconds*minSpeed))
}

// isStream reports whether c is known to have no message boundaries, so that a
// write to it may go in pieces.
func isStream(c net.Conn) bool {
	switch c := c.(type) {
	case *net.TCPConn, *tls.Conn:
		return true
	case *net.UnixConn:
		return networkOf(c) == "unix"
	}
	_, reads := c.(io.ReaderFrom)
	_, halves := c.(closeWriter)
	return reads && halves
}

// networkOf returns the network of c, or "" if c is not open.
func networkOf(c net.Conn) string {
	if a := c.LocalAddr(); a != nil {
		return a.Network()
	}
	return ""
}
