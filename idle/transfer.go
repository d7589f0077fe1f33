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
// kernel, and says nothing until it is done. Told to move all, it would be taken
// for idle halfway; so it is told to move a piece at a time, each of which
// counts. A piece is no longer than what a slow peer takes in its idle timeout,
// and, if the source is a connection, no longer than what has arrived there: so
// that a byte now and then keeps both alive, as with a read and a write.

// ReadFrom writes what r has until its end, in the kernel where the connection
// can. io.Copy calls it. Every piece that was moved counts as a write, and as a
// read of r if that is a watched connection.
func (c *tcpConn) ReadFrom(r io.Reader) (int64, error) {
	to := c.Conn.(io.ReaderFrom)
	src, fast := sourceOf(r)
	reads := src.own != nil && src.own.counts(Reads)
	switch {
	case fast && src.ready != nil:
		t := transfer{to: to, writer: &c.conn, source: src}
		return t.run()
	case fast && c.watch.pieces: // a file; in package net, too, no write comes in between
		c.writing.Lock()
		defer c.writing.Unlock()
		t := transfer{to: to, writer: &c.conn, source: src}
		return t.run()
	case reads || c.counts(Writes):
		return io.Copy(onlyWriter{c}, r)
	}
	n, err := to.ReadFrom(r)
	return n, c.watch.explain(err)
}

// WriteTo writes what arrives to w until the end, in the kernel if w is a TCP
// connection or a file. io.Copy calls it. It counts as reads.
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

// onlyWriter and onlyReader hide what else a connection can do from io.Copy.
type (
	onlyWriter struct{ io.Writer }
	onlyReader struct{ io.Reader }
)

// source is where a transfer takes bytes from.
type source struct {
	reader io.Reader         // a connection or file of the standard library
	own    *conn             // the wrapper over it, nil if there is none
	limit  *io.LimitedReader // the limit that the user set, nil if there is none
	ready  *readiness        // tells how much has arrived, nil for a file
}

// sourceOf finds out whether the kernel can read r for us.
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

// packageOf returns the package that defines r's type. It matters, since a type
// that embeds a connection and reads differently must be read its own way, and
// since io.Copy may pass a type of the standard library that has no name here.
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

// rawOf returns r's raw connection if it is a stream socket.
func rawOf(r io.Reader) syscall.RawConn {
	c, ok := r.(interface {
		net.Conn
		syscall.Conn
	})
	if !ok {
		return nil
	}
	switch networkOf(c) {
	case "tcp", "unix":
		if raw, err := c.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

// transfer moves bytes within the kernel, piece by piece.
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
		piece.N, err = t.to.ReadFrom(&piece)
		t.moved(piece.N)
		if n += piece.N; err != nil || piece.N < asked {
			break
		}
	}
	return n, t.explain(err)
}

// left returns how much may be moved in all.
func (t *transfer) left() int64 {
	if t.limit != nil {
		return t.limit.N
	}
	return math.MaxInt64
}

// next returns how long the next piece may be, and waits until there is one. It
// returns 0 at the end of the source.
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

// moved counts a piece on both sides.
func (t *transfer) moved(n int64) {
	if t.limit != nil {
		t.limit.N -= n
	}
	if t.own != nil {
		t.own.didRead(n)
	}
	if t.writer != nil {
		t.writer.wrote(n)
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
