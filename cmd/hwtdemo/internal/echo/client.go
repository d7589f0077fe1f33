package echo

import (
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"
)

// message is the text that clients send.
const message = "are you there?\n"

// outcome is the end of a client's connection.
type outcome int

const (
	closedByUs outcome = iota // at the end of the demonstration
	closedByServer
	closedEarly // by the server, before the idle timeout
)

// client is one connection. One goroutine uses it.
type client struct {
	conn        net.Conn
	idleAfter   time.Duration
	silentAfter time.Duration // since the dial; negative if it never falls silent
	random      *rand.Rand
	echoed      *atomic.Int64 // messages of all clients
	latest      time.Time     // just before the last echoed message was sent; at first, before the dial
}

// run sends messages, falls silent unless the client is a talker, and returns the end
// of the connection. over is closed at the end of the demonstration.
func (c *client) run(over <-chan struct{}) outcome {
	if c.talk(over) {
		_, _ = c.conn.Read(make([]byte, 1)) // returns when the server or the demonstration closes
	}
	return c.outcome(over)
}

// talk sends messages. It returns true when it is time to fall silent, and false
// when the connection or the demonstration has ended.
func (c *client) talk(over <-chan struct{}) bool {
	until := c.latest.Add(c.silentAfter)
	pause := time.NewTimer(c.pause(until))
	defer pause.Stop()
	for c.silentAfter < 0 || time.Now().Before(until) {
		select {
		case <-over:
			return false
		case <-pause.C:
		}
		if !c.send() {
			return false
		}
		pause.Reset(c.pause(until))
	}
	return true
}

// pause returns the time until the next message: a quarter to half of the idle
// timeout, but not beyond until.
func (c *client) pause(until time.Time) time.Duration {
	d := c.idleAfter/4 + time.Duration(c.random.Int64N(int64(c.idleAfter)/4+1))
	if c.silentAfter >= 0 {
		return min(d, max(time.Until(until), 0))
	}
	return d
}

// send sends a message and waits for its echo.
func (c *client) send() bool {
	at := time.Now()
	if _, err := io.WriteString(c.conn, message); err != nil {
		return false
	}
	if _, err := io.ReadFull(c.conn, make([]byte, len(message))); err != nil {
		return false
	}
	c.latest = at
	c.echoed.Add(1)
	return true
}

// outcome returns the end of the connection. The server received the last echoed message
// after the client had sent it: a close within the idle timeout since then is early. A
// message without an echo proves nothing, since a busy machine may send it too late.
func (c *client) outcome(over <-chan struct{}) outcome {
	select {
	case <-over:
		return closedByUs
	default:
	}
	if time.Since(c.latest) < c.idleAfter {
		return closedEarly
	}
	return closedByServer
}
