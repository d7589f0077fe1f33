package idle

import (
	"io"
	"net"
	"syscall"
)

// The kinds of wrapped connections differ in the methods beyond net.Conn. A wrapper must
// not have a method that the connection lacks, because code uses type assertions to find
// out the capabilities of a connection. A connection with another combination of methods
// gets the richest wrapper without an extra method.
type (
	// tcpConn has all methods, for *net.TCPConn.
	tcpConn struct{ unixConn }

	// unixConn has SyscallConn, CloseRead and CloseWrite, for *net.UnixConn.
	unixConn struct{ tlsConn }

	// tlsConn has CloseWrite, for *tls.Conn.
	tlsConn struct{ conn }

	// udpConn has SyscallConn, for *net.UDPConn and *net.IPConn.
	udpConn struct{ conn }
)

// wrapper is any of these kinds, or a *conn.
type wrapper interface {
	net.Conn
	base() *conn
}

type (
	closeReader interface{ CloseRead() error }
	closeWriter interface{ CloseWrite() error }
)

// wrap returns c in a wrapper of its kind. The caller initializes the watch.
func wrap(c net.Conn) wrapper {
	_, raw := c.(syscall.Conn)
	_, closesRead := c.(closeReader)
	_, closesWrite := c.(closeWriter)
	_, readsFrom := c.(io.ReaderFrom)
	_, writesTo := c.(io.WriterTo)
	halves := raw && closesRead && closesWrite
	switch {
	case halves && readsFrom && writesTo:
		w := &tcpConn{}
		w.Conn = c
		return w
	case halves:
		w := &unixConn{}
		w.Conn = c
		return w
	case closesWrite:
		w := &tlsConn{}
		w.Conn = c
		return w
	case raw:
		return &udpConn{conn{Conn: c}}
	}
	return &conn{Conn: c}
}

// CloseWrite shuts down the writing side. The connection is still watched: a silent
// peer that keeps its side open is idle.
func (c *tlsConn) CloseWrite() error {
	return c.watch.explain(c.Conn.(closeWriter).CloseWrite())
}

// CloseRead shuts down the reading side. The connection is still watched.
func (c *unixConn) CloseRead() error {
	return c.watch.explain(c.Conn.(closeReader).CloseRead())
}

// SyscallConn returns the raw connection. A Read or Write of the raw connection is activity
// if it returns no error.
func (c *unixConn) SyscallConn() (syscall.RawConn, error) { return c.raw() }

// SyscallConn returns the raw connection, as unixConn's does.
func (c *udpConn) SyscallConn() (syscall.RawConn, error) { return c.raw() }

func (c *conn) raw() (syscall.RawConn, error) {
	raw, err := c.Conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, c.watch.explain(err)
	}
	return &rawConn{raw, c}, nil
}

// rawConn is a raw connection with operations that are activity. Its type also hides a
// connection of package net from package os: os.File would move bytes unnoticed.
type rawConn struct {
	syscall.RawConn
	conn *conn
}

func (r *rawConn) Read(f func(fd uintptr) (done bool)) error {
	return r.note(ActivityRead, r.RawConn.Read(f))
}

func (r *rawConn) Write(f func(fd uintptr) (done bool)) error {
	return r.note(ActivityWrite, r.RawConn.Write(f))
}

func (r *rawConn) note(a Activity, err error) error {
	if err == nil {
		r.conn.note(a, 1)
	}
	return r.conn.watch.explain(err)
}
