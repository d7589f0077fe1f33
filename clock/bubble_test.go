package clock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/enginetest"
)

// TestClockFromOutsideABubblePanics uses a clock in a bubble that was created outside. It
// still works outside.
func TestClockFromOutsideABubblePanics(t *testing.T) {
	const message = "hwt: timer made outside this synctest bubble: make the timer inside it"
	timer := newTimer(t)
	c := newClock(t, timer)
	ticker, stopped := c.NewTicker(5*tick), c.NewTimer(time.Hour)
	defer ticker.Stop()
	enginetest.Bubble(t, func(t *testing.T) {
		for _, f := range []func(){
			func() { c.NewTicker(5 * tick) },
			func() { c.NewTicker(time.Hour) },
			func() { ticker.Reset(time.Hour) },
			func() { c.NewTimer(time.Hour) },
			func() { c.AfterFunc(0, func() { assert.Fail(t, "ran") }) },
			func() { stopped.Reset(time.Hour) },
			func() { c.Sleep(time.Hour) },
			func() { c.WithTimeout(t.Context(), time.Hour) },
			func() { _, _ = c.ScheduleFunc(every(time.Hour), func() {}, nil) },
		} {
			assert.PanicsWithValue(t, message, f)
		}
		assert.True(t, stopped.Stop())
		synctest.Wait()
	})
	ticker.Reset(5 * tick)
	other := c.NewTicker(5 * tick)
	<-ticker.C
	<-other.C
	other.Stop()
	assert.LessOrEqual(t, timer.Pending(), int64(1), "the next firing may be under way")
}

// A receive from Done outside the bubble would end the process.
func TestEndedContextIsCancelledOutsideItsBubble(t *testing.T) {
	for want, after := range map[error]time.Duration{context.Canceled: 0, context.DeadlineExceeded: 2 * tick} {
		var ctx context.Context
		var cancel context.CancelFunc
		enginetest.Bubble(t, func(t *testing.T) {
			ctx, cancel = newClock(t, newTimer(t)).WithTimeout(context.Background(), tick)
			done := ctx.Done()
			time.Sleep(after)
			cancel()
			<-done
		})
		cancel()
		assert.Equal(t, want, ctx.Err())
	}
}
