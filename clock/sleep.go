package clock

import (
	"time"

	"github.com/hashedwheel/hwt"
)

// wakeup is the task that wakes a sleeping goroutine.
type wakeup struct {
	clock *Clock    // Immutable.
	c     chan bool // Receives whether the wakeup can be used again. Immutable.
}

// Run implements [hwt.TimerTask]. It runs once per Sleep, so there is room.
func (w *wakeup) Run(hwt.Timeout) error {
	w.c <- true
	return nil
}

// Refused implements [hwt.RefusedTask]: a goroutine runs the task, and err is reported.
func (w *wakeup) Refused(timeout hwt.Timeout, err error) error {
	go w.Run(timeout)
	return err
}

// Sleep pauses the calling goroutine for d or up to one tick longer. It returns
// immediately if d is zero or less. It allocates only the timer's timeout.
func (c *Clock) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	if d < c.options.RuntimeBelow {
		time.Sleep(d)
		return
	}
	w, _ := c.wakeups.Get().(*wakeup)
	if w == nil {
		w = &wakeup{c, make(chan bool, 1)}
	}
	c.arm(w, d)
	if <-w.c {
		c.wakeups.Put(w)
	}
}
