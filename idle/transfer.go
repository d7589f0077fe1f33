package idle

import (
	"io"
	"math"
	"net"
	"os"
	"reflect"
	"syscall"
)

// A TCP connection moves bytes from a file or another connection inside the
// kernel, in one call that returns at the end. The connection would look idle
// meanwhile. So a transfer goes in pieces, each of which is activity. A piece is
// no longer than what a slow peer takes in its idle timeout and, if the source is
// a connection, than what has arrived there. So one byte now and then keeps both
// connections alive, as with a read and a write.

// ReadFrom writes what r has until its end, inside the kernel where the connection
// can. io.Copy calls it. Each piece counts as a write, and as a read of r if that
// is a wrapped connection.
func (c *tcpConn) ReadFrom(r io.Reader) (int64, error) {
	to := c.Conn.(io.ReaderFrom)
	src, fast := sourceOf(r)
	reads := src.own != nil && src.own.counts(ActivityRead)
	switch {
	case fast && src.ready != nil:
		t := transfer{to: to, writer: &c.conn, source: src}
		return t.run()
	case fast && c.watch.pieces: // a file; in package net, too, no other write comes in between
		c.lockPieces()
		defer c.writing.Unlock()
		t := transfer{to: to, writer: &c.conn, source: src}
		return t.run()
	case reads || c.counts(ActivityWrite):
		return io.Copy(onlyWriter{c}, r)
	}
	n, err := to.ReadFrom(r)
	return n, c.watch.explain(err)
}

// WriteTo writes what arrives to w until the end, inside the kernel if w is a TCP
// connection or a file. io.Copy calls it. Each piece counts as a read.
func (c *tcpConn) WriteTo(w io.Writer) (int64, error) {
	switch to := w.(type) {
	case *tcpConn:
		return to.ReadFrom(c)
	case *net.TCPConn, *os.File:
		if src, fast := sourceOf(c); fast {
			t := transfer{to: to.(io.ReaderFrom), source: src}
			return t.run()
		}
	}
	return io.Copy(w, onlyReader{c})
}

// onlyWriter and onlyReader hide a connection's other methods from io.Copy.
type (
	onlyWriter struct{ io.Writer }
	onlyReader struct{ io.Reader }
)

// source is where a transfer takes bytes from.
type source struct {
	reader io.Reader         // a connection or file of the standard library
	own    *conn             // the wrapper over it, nil if there is none
	limit  *io.LimitedReader // the user's limit, nil if there is none
	ready  *readiness        // knows how much has arrived; nil for a file
}

// sourceOf returns r as a source. fast is whether the kernel can read it.
func sourceOf(r io.Reader) (s source, fast bool) {
	s.reader = r
	if limit, ok := r.(*io.LimitedReader); ok {
		s.limit, s.reader = limit, limit.R
	}
	if own, ok := s.reader.(wrapper); ok {
		s.own = own.base()
		s.reader = s.own.Conn
	}
	switch packageOf(s.reader) {
	case "os":
		f, ok := s.reader.(interface{ Stat() (os.FileInfo, error) })
		return s, ok && isRegular(f.Stat())
	case "net":
		s.ready = newReadiness(s.reader)
		return s, s.ready != nil
	}
	return s, false
}

// packageOf returns the package that defines r's type. A type that embeds a
// connection may read differently, so its own methods must be used. And io.Copy
// may pass a type of the standard library that is not exported.
func packageOf(r io.Reader) string {
	t := reflect.TypeOf(r)
	if t == nil {
		return ""
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}

func isRegular(info os.FileInfo, err error) bool { return err == nil && info.Mode().IsRegular() }

// streamSocket returns r as a connection, and its raw connection, if r is a stream
// socket.
func streamSocket(r io.Reader) (net.Conn, syscall.RawConn) {
	c, ok := r.(interface {
		net.Conn
		syscall.Conn
	})
	if !ok {
		return nil, nil
	}
	switch networkOf(c) {
	case "tcp", "unix":
		if raw, err := c.SyscallConn(); err == nil {
			return c, raw
		}
	}
	return nil, nil
}

// transfer moves bytes inside the kernel, piece by piece.
type transfer struct {
	source
	to     io.ReaderFrom
	writer *conn // the wrapper over to, nil if there is none
}

func (t *transfer) run() (n int64, err error) {
	piece := io.LimitedReader{R: t.reader}
	for left := t.left(); left > 0; left -= piece.N {
		piece.N, err = t.next(left)
		if err != nil || piece.N == 0 {
			break
		}
		asked := piece.N
		err = t.move(&piece)
		t.moved(piece.N)
		if n += piece.N; err != nil || piece.N < asked {
			break
		}
	}
	return n, t.explain(err)
}

// left returns how many bytes the user's limit leaves.
func (t *transfer) left() int64 {
	if t.limit != nil {
		return t.limit.N
	}
	return math.MaxInt64
}

// next waits for the next piece and returns its length, 0 at the end of the
// source.
func (t *transfer) next(left int64) (int64, error) {
	n := min(left, maxPiece)
	if t.writer != nil {
		n = min(n, int64(t.writer.watch.piece()))
	}
	if t.ready == nil {
		return n, nil
	}
	arrived, err := t.ready.wait()
	return min(n, arrived), err
}

// move moves a piece and sets its N to the number of bytes.
func (t *transfer) move(piece *io.LimitedReader) (err error) {
	if t.ready != nil && t.writer != nil && t.writer.watch.pieces {
		t.writer.lockPieces() // a file's transfer holds the lock already
		defer t.writer.writing.Unlock()
	}
	piece.N, err = t.to.ReadFrom(piece)
	return err
}

// moved counts a piece on both sides.
func (t *transfer) moved(n int64) {
	if t.limit != nil {
		t.limit.N -= n
	}
	if t.own != nil {
		t.own.noteRead(n)
	}
	if t.writer != nil {
		t.writer.noteWrite(n)
	}
}

func (t *transfer) explain(err error) error {
	if t.own != nil {
		err = t.own.watch.explain(err)
	}
	if t.writer != nil {
		err = t.writer.watch.explain(err)
	}
	return err
}
