package idle

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"time"
)

// conn is a connection with the watch over it, in one allocation. On its own it
// wraps connections that can do nothing beyond net.Conn; the types in kinds.go
// add what others can.
type conn struct {
	net.Conn // Immutable after newConn.
	watch    Watch
	writing  sync.Mutex // held for a write that goes in pieces, so that no other comes in between
}

// wrapper is any of the wrapping types.
type wrapper interface {
	net.Conn
	base() *conn
}

func (c *conn) base() *conn { return c }

// NetConn returns the connection that was wrapped. What is done to it directly
// is not seen by the reaper.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Read reads, and counts as activity if it brought something.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.didRead(int64(n))
	if err != nil {
		err = c.watch.explain(err)
	}
	return n, err
}

// Write writes, and counts as activity if it took something. A long write to a
// stream goes in pieces, each of which counts; another Write waits for its end,
// as it would in package net.
func (c *conn) Write(p []byte) (n int, err error) {
	if !c.watch.pieces {
		return c.writePiece(p)
	}
	c.writing.Lock()
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
	c.wrote(int64(n))
	return n, c.watch.explain(err)
}

// Close ends the watch, if it has not ended, and closes the connection.
func (c *conn) Close() error {
	c.watch.Release()
	return c.watch.explain(c.Conn.Close())
}

// SetDeadline and its kin are the connection's own; the reaper uses none.
func (c *conn) SetDeadline(t time.Time) error { return c.watch.explain(c.Conn.SetDeadline(t)) }

// SetReadDeadline sets the connection's own.
func (c *conn) SetReadDeadline(t time.Time) error {
	return c.watch.explain(c.Conn.SetReadDeadline(t))
}

// SetWriteDeadline sets the connection's own.
func (c *conn) SetWriteDeadline(t time.Time) error {
	return c.watch.explain(c.Conn.SetWriteDeadline(t))
}

// didRead and wrote touch the watch if n bytes of that kind count.
func (c *conn) didRead(n int64) { c.did(Reads, n) }
func (c *conn) wrote(n int64)   { c.did(Writes, n) }

func (c *conn) did(a Activity, n int64) {
	if n > 0 && c.counts(a) {
		c.watch.Touch()
	}
}

func (c *conn) counts(a Activity) bool { return c.watch.shard.reaper.activity&a != 0 }

// The limits of a piece, and the speed below which a transfer counts as idle.
const (
	minPiece = 4 << 10
	maxPiece = 64 << 10
	minSpeed = 1 << 10 // bytes a second
)

// piece is how many bytes may be moved before they count as activity. A transfer
// of at least minSpeed moves a piece in less than the idle timeout.
func (w *Watch) piece() int {
	seconds := min(w.Timeout()/time.Second, maxPiece/minSpeed)
	return int(max(minPiece, seconds*minSpeed))
}

// isStream reports whether a write to c may go in pieces: c has no message
// boundaries, for sure.
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

// networkOf returns the network of c, "" if c is not open.
func networkOf(c net.Conn) string {
	if a := c.LocalAddr(); a != nil {
		return a.Network()
	}
	return ""
}

type (
	closeReader interface{ CloseRead() error }
	closeWriter interface{ CloseWrite() error }
)
