package clock

import (
	"time"

	"github.com/hashedwheel/hwt"
)

// waker is what a sleeper waits for, and the task of its timeout.
type waker chan struct{}

// Run implements hwt.TimerTask. It runs once a sleep, so there is room.
func (w waker) Run(hwt.Timeout) error {
	w <- struct{}{}
	return nil
}

// Sleep pauses the calling goroutine for d, or up to a tick longer. It returns at
// once if d is zero or less. It allocates a timeout, 48 bytes.
func (c *Clock) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	w, _ := c.wakers.Get().(waker)
	if w == nil {
		w = make(waker, 1)
	}
	c.arm(w, d)
	<-w
	c.wakers.Put(w) // empty again
}
