package echo

import (
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"
)

// FitWithin is Fit for a limit of the test's choice.
var FitWithin = fit

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
