package echo

import (
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// FitWithin is Fit for a limit of the test's choice.
var FitWithin = fit

// NewUnfair is New with a server that allows its clients less silence than they
// know of.
func NewUnfair(c Config, allowed time.Duration, timer hwt.Timer) (*Show, error) {
	known := c.IdleAfter
	c.IdleAfter = allowed
	show, err := New(c, timer)
	if err == nil {
		show.config.IdleAfter = known
	}
	return show, err
}

// What may become of a talker.
const (
	ClosedByUs     = closedByUs
	ClosedByServer = closedByServer
	ClosedEarly    = closedEarly
)

// Talk has a talker live on conn until it ends; its latest message was at
// lastHeard. It returns how it ended and how many messages were echoed.
func Talk(conn net.Conn, idleAfter time.Duration, lastHeard time.Time) (outcome, int64) {
	var said atomic.Int64
	c := &client{conn: conn, idleAfter: idleAfter, silentAfter: -1, said: &said, lastHeard: lastHeard,
		random: rand.New(rand.NewPCG(1, 2))}
	return c.live(make(chan struct{})), said.Load()
}
