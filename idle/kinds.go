package idle

import (
	"io"
	"net"
	"syscall"
)

// The kinds of connections that there are, by what they can do beyond net.Conn.
// A wrapper must not offer what its connection lacks, since code asks for a
// method to find out whether it works; so each kind has a type. A connection
// with another combination of these methods gets the greatest of the kinds that
// asks for no more than it has.
type (
	// tcpConn can do everything. Its kind is *net.TCPConn.
	tcpConn struct{ unixConn }

	// unixConn has SyscallConn, CloseRead and CloseWrite. Its kind is
	// *net.UnixConn.
	unixConn struct{ tlsConn }

	// tlsConn has CloseWrite. Its kind is *tls.Conn.
	tlsConn struct{ conn }

	// udpConn has SyscallConn. Its kinds are *net.UDPConn and *net.IPConn.
	udpConn struct{ conn }
)

// newConn returns the wrapper for c's kind. Its watch is to be filled in.
func newConn(c net.Conn) wrapper {
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

// CloseWrite shuts the writing side down. The watch goes on: a peer that keeps
// its own side open without a word is idle.
func (c *tlsConn) CloseWrite() error {
	return c.watch.explain(c.Conn.(closeWriter).CloseWrite())
}

// CloseRead shuts the reading side down. The watch goes on.
func (c *unixConn) CloseRead() error {
	return c.watch.explain(c.Conn.(closeReader).CloseRead())
}

// SyscallConn returns the connection's own, through which a read or write counts
// when it is done.
func (c *unixConn) SyscallConn() (syscall.RawConn, error) { return c.raw() }

// SyscallConn returns the connection's own, as for unixConn.
func (c *udpConn) SyscallConn() (syscall.RawConn, error) { return c.raw() }

func (c *conn) raw() (syscall.RawConn, error) {
	raw, err := c.Conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, c.watch.explain(err)
	}
	return &counted{raw, c}, nil
}

// counted is a raw connection that touches. It also keeps package os from
// finding out that the connection is of package net: os.File would move bytes to
// and from it on its own, and we would take it for idle meanwhile.
type counted struct {
	syscall.RawConn
	conn *conn
}

func (r *counted) Read(f func(fd uintptr) (done bool)) error {
	return r.count(Reads, r.RawConn.Read(f))
}

func (r *counted) Write(f func(fd uintptr) (done bool)) error {
	return r.count(Writes, r.RawConn.Write(f))
}

func (r *counted) count(a Activity, err error) error {
	if err == nil {
		r.conn.did(a, 1)
	}
	return r.conn.watch.explain(err)
}
