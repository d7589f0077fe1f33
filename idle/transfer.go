package idle

import (
	"io"
	"math"
	"net"
	"os"
	"reflect"
	"syscall"
)

// A TCP connection moves bytes from a file or another connection inside the kernel, in one call
// that returns at the end. The connection would look idle during the transfer. A transfer is
// split into pieces, and each piece is activity. The length of a piece is limited to the bytes
// that a slow peer takes in the idle timeout. If the source is a connection, the length is also
// limited to the bytes that have arrived. An occasional byte thus keeps both connections alive,
// as with a read and a write.

// ReadFrom writes the contents of r, inside the kernel if possible. io.Copy calls
// it. Each piece counts as a write, and as a read of r if r is a wrapped connection.
func (c *tcpConn) ReadFrom(r io.Reader) (int64, error) {
	to := c.Conn.(io.ReaderFrom)
	src, fast := sourceOf(r)
	reads := src.own != nil && src.own.counts(ActivityRead)
	switch {
	case fast && src.ready != nil:
		t := transfer{to: to, writer: &c.conn, source: src}
		return t.run()
	case fast && c.watch.pieces: // a file; as in package net, no other write intervenes
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

// WriteTo writes the stream to w, inside the kernel if w is a TCP connection or a
// file. io.Copy calls it. Each piece counts as a read.
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

// source is the source of a transfer.
type source struct {
	reader io.Reader         // a connection or file of the standard library
	own    *conn             // wrapper of reader; may be nil
	limit  *io.LimitedReader // the user's limit; may be nil
	ready  *readiness        // number of bytes that have arrived; nil for a file
}

// sourceOf returns r as a source. fast reports whether the kernel can read it.
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

// packageOf returns the package that defines r's type. Only types of the standard
// library, exported or not, can be read inside the kernel: a type that embeds a
// connection may read differently.
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
	writer *conn // wrapper of to; may be nil
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

// left returns the number of bytes that the user's limit leaves.
func (t *transfer) left() int64 {
	if t.limit != nil {
		return t.limit.N
	}
	return math.MaxInt64
}

// next waits for the next piece and returns its length, or 0 at the end of the source.
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

// move moves a piece and sets piece.N to the number of bytes moved.
func (t *transfer) move(piece *io.LimitedReader) (err error) {
	if t.ready != nil && t.writer != nil && t.writer.watch.pieces {
		t.writer.lockPieces() // the transfer of a file already holds the lock
		defer t.writer.writing.Unlock()
	}
	piece.N, err = t.to.ReadFrom(piece)
	return err
}

// moved counts a piece of n bytes on both sides.
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
