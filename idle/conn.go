package idle

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"time"
)

// conn is a connection and a watch, in one allocation. conn wraps connections that have
// only the methods of net.Conn; the types in wrap.go add other methods.
type conn struct {
	net.Conn // Immutable after wrap.
	watch    Watch
	writing  sync.Mutex // held during a write in pieces, so that no other write intervenes
	sniffer  sniffer
}

func (c *conn) base() *conn { return c }

// NetConn returns the original connection. Its reads and writes are not activity.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Read reads. A Read of at least one byte is activity.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.sniffer.note(p[:max(n, 0)])
	c.noteRead(int64(n))
	if err != nil {
		err = c.explainRead(err)
	}
	return n, err
}

// Write writes. A Write of at least one byte is activity. A long write to a stream is split
// into pieces, and each piece is activity. Concurrent writes wait for the end, as in
// package net.
func (c *conn) Write(p []byte) (n int, err error) {
	if c.fails() && !c.sniffer.passes(p) {
		return 0, c.watch.explain(net.ErrClosed)
	}
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

// lockPieces locks writing. If the watch is held, lockPieces touches it first: holds
// do not count during a write, so the write must start with a whole idle timeout.
func (c *conn) lockPieces() {
	if c.watch.holds.Load() > 0 {
		c.watch.Touch()
	}
	c.writing.Lock()
}

// isWriting reports whether a write in pieces is in progress.
func (c *conn) isWriting() bool {
	if c.writing.TryLock() {
		c.writing.Unlock()
		return false
	}
	return true
}

// Close ends the watch and closes the connection.
func (c *conn) Close() error {
	c.watch.Stop()
	return c.watch.explain(c.Conn.Close())
}

// SetDeadline sets the connection's deadlines. The reaper does not use them.
func (c *conn) SetDeadline(t time.Time) error { return c.setReadDeadline(c.Conn.SetDeadline, t) }

// SetReadDeadline sets the connection's read deadline.
func (c *conn) SetReadDeadline(t time.Time) error {
	return c.setReadDeadline(c.Conn.SetReadDeadline, t)
}

// SetWriteDeadline sets the connection's write deadline.
func (c *conn) SetWriteDeadline(t time.Time) error {
	return c.watch.explain(c.Conn.SetWriteDeadline(t))
}

func (c *conn) noteRead(n int64)  { c.note(ActivityRead, n) }
func (c *conn) noteWrite(n int64) { c.note(ActivityWrite, n) }

// note touches the watch if an operation that counts moved n > 0 bytes.
func (c *conn) note(a Activity, n int64) {
	if n > 0 && c.counts(a) {
		c.watch.Touch()
	}
}

func (c *conn) counts(a Activity) bool { return c.watch.shard.reaper.options.Activity&a != 0 }

// The limits of a piece, and the minimum speed of a transfer that is not idle.
const (
	minPiece = 4 << 10
	maxPiece = 64 << 10
	minSpeed = 1 << 10 // bytes per second
)

// piece returns the length of a piece: the number of bytes that a transfer at
// minSpeed moves within the idle timeout.
func (w *Watch) piece() int {
	seconds := min(w.Timeout()/time.Second, maxPiece/minSpeed)
	return int(max(minPiece, seconds*minSpeed))
}

// isStream reports whether c is known to have no message boundaries. A write to a
// stream can be split into pieces.
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
