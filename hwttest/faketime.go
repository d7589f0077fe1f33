package hwttest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

var fakeTimeChecks = []check{
	{"DaysPassInABubble", fake, days},
	{"BusyDayInABubble", fake, wholeLife},
}

const day = 24 * time.Hour

func days(tb testing.TB, newTimer factory) {
	const tick = 100 * time.Millisecond
	e := newTimer.start(tb, Options{TickDuration: tick})
	c := newCourse(e, tick)
	for _, delay := range []time.Duration{time.Minute, time.Hour + 1, 5*time.Hour - 1, day, day + tick/2, 2*day + 12345*time.Second} {
		c.add(tb, delay)
		time.Sleep(rand.N(time.Hour))
	}
	pass(3 * day)
	c.verify(tb)
}

// wholeLife simulates a server's day: connections open, are reset while they are busy,
// and are cancelled or time out.
func wholeLife(tb testing.TB, newTimer factory) {
	const tick = 100 * time.Millisecond
	e := newTimer.start(tb, Options{TickDuration: tick})
	var timedOut mark
	gone := 0
	for range 200 {
		timeout := schedule(tb, e, task(func(hwt.Timeout) { timedOut.set() }), time.Minute)
		for range rand.N(5) {
			time.Sleep(rand.N(80 * time.Second))
			timeout.Reset(time.Minute)
		}
		if rand.N(2) == 0 && timeout.Cancel() {
			gone++
		}
	}
	pass(2 * time.Minute)
	s := balanced(tb, e)
	assert.Equal(tb, 200, timedOut.count()+gone)
	assert.Equal(tb, 200, s.Accepted)
	assert.Equal(tb, timedOut.count(), s.Expired)
	assert.Equal(tb, gone, s.Cancelled)
}
