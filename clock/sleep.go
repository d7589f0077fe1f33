package clock

import "time"

// Sleep pauses the calling goroutine for d or up to one tick longer. Sleep returns
// immediately if d is zero or less. Sleep allocates only the timer's timeout.
func (c *Clock) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	if d < c.options.RuntimeBelow {
		time.Sleep(d)
		return
	}
	t, _ := c.sleepers.Get().(*Timer)
	if t == nil {
		t = c.newAfter()
	}
	t.Reset(d)
	<-t.c
	c.sleepers.Put(t)
}
