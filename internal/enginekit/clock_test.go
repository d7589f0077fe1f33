package enginekit_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/enginekit"
)

func started() *enginekit.Clock {
	c := new(enginekit.Clock)
	c.Start()
	return c
}

func TestInBubbleIsTrueOnlyInBubbles(t *testing.T) {
	assert.False(t, enginekit.InBubble())
	assert.False(t, started().Inside())
	synctest.Test(t, func(t *testing.T) {
		assert.True(t, enginekit.InBubble())
		assert.True(t, started().Inside())
	})
}

func TestCheckPassesWhereTheClockWasStarted(t *testing.T) {
	outside := started()
	assert.NotPanics(t, func() { outside.Check(outside.Now()) })
	synctest.Test(t, func(t *testing.T) {
		c := started()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				for range 100 {
					assert.NotPanics(t, func() { c.Check(c.Now()) })
					time.Sleep(365 * 24 * time.Hour) // past the present
				}
			})
		}
		all.Wait()
		assert.Equal(t, 100*365*24*time.Hour, time.Duration(c.Now()))
	})
}

func TestClockFromOutsideFailsInABubble(t *testing.T) {
	c := started()
	synctest.Test(t, func(t *testing.T) {
		assert.False(t, c.Foreign())
		assert.PanicsWithValue(t, "hwt: timer made outside this synctest bubble: make the timer inside it",
			func() { c.Check(c.Now()) })
	})
	assert.NotPanics(t, func() { c.Check(c.Now()) })
}

func TestClockFromOutsideFailsInALaterBubble(t *testing.T) {
	start, c := time.Now(), started()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(start.Add(2 * time.Minute)))
		assert.Panics(t, func() { c.Check(c.Now()) })
	})
}

func TestClockTrustsTwiceItsAge(t *testing.T) {
	c := started()
	c.Check(int64(time.Hour)) // as if an hour had passed
	now := int64(2*time.Hour - 1)
	synctest.Test(t, func(t *testing.T) {
		assert.NotPanics(t, func() { c.Check(now) })
		assert.Panics(t, func() { c.Check(now + 1) })
	})
	c.CheckSide() // looks at a time long before
	synctest.Test(t, func(t *testing.T) { assert.NotPanics(t, func() { c.Check(now) }) })
}

func TestClockFromABubbleFailsOutside(t *testing.T) {
	var c *enginekit.Clock
	synctest.Test(t, func(t *testing.T) {
		c = started()
		assert.False(t, c.Foreign())
	})
	assert.True(t, c.Foreign())
	assert.PanicsWithValue(t, "hwt: timer made inside a synctest bubble: it cannot be used outside",
		func() { c.Check(c.Now()) })
}

func TestClockFromABubbleFailsInAnEarlierOne(t *testing.T) {
	var c *enginekit.Clock
	synctest.Test(t, func(*testing.T) {
		c = started()
		time.Sleep(time.Second)
		c.Check(c.Now())
	})
	synctest.Test(t, func(t *testing.T) {
		assert.PanicsWithValue(t, "hwt: timer made inside another synctest bubble: make the timer inside this one",
			func() { c.Check(c.Now()) })
	})
}

func BenchmarkCheck(b *testing.B) {
	c := started()
	for b.Loop() {
		c.Check(c.Now())
	}
}

func TestTimeIsThePresentPlusTheRemainingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, c := time.Now(), started()
		time.Sleep(time.Minute)
		assert.Equal(t, start.Add(time.Hour), c.Time(int64(time.Hour)))
		assert.Equal(t, start.Add(time.Second), c.Time(int64(time.Second)), "in the past")
	})
}
