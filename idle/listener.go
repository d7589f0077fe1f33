package idle

import (
	"net"
	"syscall"
	"time"
)

// Listener returns l with an Accept that wraps each connection, as Wrap does. An
// http.Server can serve it. For TLS, wrap the TCP listener, and put
// tls.NewListener or http.Server.ServeTLS over the result: HTTP/2 needs the
// *tls.Conn on the outside, and a close need not wait for the peer then.
//
// The result has SyscallConn and SetDeadline if l has both. To close it closes l
// and no connection.
func (r *Reaper) Listener(l net.Listener) net.Listener {
	own := listener{l, r}
	if s, ok := l.(socketListener); ok {
		return &socket{own, s}
	}
	return &own
}

type listener struct {
	net.Listener
	reaper *Reaper
}

// Accept waits for the next connection and returns it, wrapped.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.reaper.Wrap(c), nil
}

// socketListener is what the listeners of package net have beyond net.Listener.
type socketListener interface {
	syscall.Conn
	SetDeadline(time.Time) error
}

// socket is a listener over one of those.
type socket struct {
	listener
	socketListener
}
