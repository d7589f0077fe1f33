package idle

import (
	"net"
	"syscall"
	"time"
)

// Listener returns l with an Accept that wraps each connection, as Wrap does. For
// TLS, pass the TCP listener to Listener and the result to [crypto/tls.NewListener] or
// [net/http.Server.ServeTLS]: HTTP/2 needs the *tls.Conn on the outside, and a close
// then does not wait for the peer.
//
// The result has the methods SyscallConn and SetDeadline if l has both. Closing it
// closes l but no connections.
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

// Accept waits for the next connection and returns it wrapped.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.reaper.Wrap(c), nil
}

// socketListener has the methods that the listeners of package net add to
// net.Listener.
type socketListener interface {
	syscall.Conn
	SetDeadline(time.Time) error
}

// socket is a listener on top of a socketListener.
type socket struct {
	listener
	socketListener
}
