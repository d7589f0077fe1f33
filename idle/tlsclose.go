package idle

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// A TLS connection must end with a close_notify alert, or the peer reports a truncated stream
// (RFC 8446, section 6.1). Only the *tls.Conn on top of a wrapped connection can send the
// alert. The reaper does not close such a connection itself at first. Instead, the reaper
// makes the read in progress, all later reads, and all writes but the write of the alert
// fail. The reader, for example net/http's server, then closes the *tls.Conn. That close
// sends the alert and closes the wrapped connection. After tlsGrace the reaper closes the
// connection in any case.
//
// A connection carries TLS if the first bytes read are the header of a handshake record. A
// stream of another protocol that begins like this is only closed later.

// tlsGrace is the time from the end of a TLS connection's watch to its close by the reaper.
const tlsGrace = time.Second

// sniffer finds out whether a connection carries TLS.
type sniffer struct{ found atomic.Int32 } // Atomic: written by the first read, and by a write that fails.

const (
	sniffedOther = 1 + iota
	sniffedTLS
	sniffedCut // TLS, and a record was discarded
)

// note looks at the first bytes.
func (s *sniffer) note(p []byte) {
	if len(p) == 0 || s.found.Load() != 0 {
		return
	}
	const handshake, major = 0x16, 3
	found := int32(sniffedOther)
	if p[0] == handshake && (len(p) == 1 || p[1] == major) {
		found = sniffedTLS
	}
	s.found.CompareAndSwap(0, found)
}

func (s *sniffer) isTLS() bool { return s.found.Load() >= sniffedTLS }

// passes reports whether p, a record after the end of the watch, may be written.
func (s *sniffer) passes(p []byte) bool {
	if isAlert(p) && s.found.Load() == sniffedTLS {
		return true
	}
	s.found.Store(sniffedCut)
	return false
}

// longPast is a deadline that has passed.
var longPast = time.Unix(1, 0)

// closeSoon closes the connection of an ended watch, after its user has had the chance to
// send close_notify.
func (c *conn) closeSoon() error {
	if !c.sniffer.isTLS() || c.Conn.SetReadDeadline(longPast) != nil {
		return c.Conn.Close()
	}
	time.AfterFunc(tlsGrace, func() { c.Conn.Close() })
	return nil
}

// isAlert reports whether p is the record of an alert. TLS 1.3 encrypts alerts: a header, two
// bytes, their type, and a tag of 16 bytes.
func isAlert(p []byte) bool {
	const alert, data, length = 0x15, 0x17, 5 + 2 + 1 + 16
	return len(p) > 0 && (p[0] == alert || p[0] == data && len(p) == length)
}

// fails reports whether reads and writes must fail because the reaper closes the connection soon.
func (c *conn) fails() bool { return c.sniffer.isTLS() && c.watch.Err() != nil }

// explainRead is explain for a read. The deadline of closeSoon is not the user's.
func (c *conn) explainRead(err error) error {
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) && c.fails() {
		err = net.ErrClosed
	}
	return c.watch.explain(err)
}

// setReadDeadline calls set, and keeps the deadline of closeSoon.
func (c *conn) setReadDeadline(set func(time.Time) error, t time.Time) error {
	err := set(t)
	if c.fails() {
		_ = c.Conn.SetReadDeadline(longPast)
	}
	return c.watch.explain(err)
}
