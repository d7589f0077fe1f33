package echo

import (
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"
)

// message is what clients say.
const message = "are you there?\n"

// outcome is how a client's connection ended.
type outcome int

const (
	closedByUs outcome = iota // the show was over
	closedByServer
	closedEarly // by the server, before its time
)

// client is one connection of the swarm. One goroutine uses it.
type client struct {
	conn        net.Conn
	idleAfter   time.Duration
	silentAfter time.Duration // after it was dialled; negative if it never falls silent
	random      *rand.Rand
	said        *atomic.Int64 // messages of all clients
	lastHeard   time.Time     // just before the latest message was sent that came back; at first, before it dialled
}

// live talks, falls silent if that is its part, and tells how it ended. over is
// closed when the show is.
func (c *client) live(over <-chan struct{}) outcome {
	if !c.talk(over) {
		return c.gone(over)
	}
	// Silent. The only thing to come is the end; when the show is over somebody
	// else closes the connection.
	_, _ = c.conn.Read(make([]byte, 1))
	return c.gone(over)
}

// talk says something now and then. It returns true when the time has come to
// fall silent, and false when the connection or the show is over.
func (c *client) talk(over <-chan struct{}) bool {
	until := c.lastHeard.Add(c.silentAfter)
	pause := time.NewTimer(c.pause(until))
	defer pause.Stop()
	for c.silentAfter < 0 || time.Now().Before(until) {
		select {
		case <-over:
			return false
		case <-pause.C:
		}
		if !c.say() {
			return false
		}
		pause.Reset(c.pause(until))
	}
	return true
}

// pause returns how long to wait for the next message: a quarter to a half of
// what the server allows, and no longer than until.
func (c *client) pause(until time.Time) time.Duration {
	d := c.idleAfter/4 + time.Duration(c.random.Int64N(int64(c.idleAfter)/4+1))
	if c.silentAfter >= 0 {
		return min(d, max(time.Until(until), 0))
	}
	return d
}

// say sends a message and waits for its echo.
func (c *client) say() bool {
	at := time.Now()
	if _, err := io.WriteString(c.conn, message); err != nil {
		return false
	}
	if _, err := io.ReadFull(c.conn, make([]byte, len(message))); err != nil {
		return false
	}
	c.lastHeard = at
	c.said.Add(1)
	return true
}

// gone tells how the connection ended. A message that came back was heard after
// it was sent: if less than the idle time has passed since, the server closed too
// early. One that did not come back tells nothing, since on a busy machine it may
// have been sent when its time was over.
func (c *client) gone(over <-chan struct{}) outcome {
	select {
	case <-over:
		return closedByUs
	default:
	}
	if time.Since(c.lastHeard) < c.idleAfter {
		return closedEarly
	}
	return closedByServer
}
