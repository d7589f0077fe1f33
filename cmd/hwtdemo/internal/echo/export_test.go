package echo

import (
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// FitWithin is Fit with a given limit.
var FitWithin = fit

// NewUnfair is New, with a server whose idle timeout is shorter than its clients expect.
func NewUnfair(c Config, allowed time.Duration, timer hwt.Timer) (*Demo, error) {
	known := c.IdleAfter
	c.IdleAfter = allowed
	demo, err := New(c, timer)
	if err == nil {
		demo.config.IdleAfter = known
	}
	return demo, err
}

// Outcomes of a client.
const (
	ClosedByUs     = closedByUs
	ClosedByServer = closedByServer
	ClosedEarly    = closedEarly
)

// Talk runs a client on conn until the connection ends. The client behaves as if it sent its
// last echoed message at latest. Talk returns the outcome and the number of echoed messages.
func Talk(conn net.Conn, idleAfter time.Duration, latest time.Time) (outcome, int64) {
	var echoed atomic.Int64
	c := &client{conn: conn, idleAfter: idleAfter, silentAfter: -1, echoed: &echoed, latest: latest,
		random: rand.New(rand.NewPCG(1, 2))}
	return c.run(make(chan struct{})), echoed.Load()
}

// Echo serves one connection.
var Echo = echo
