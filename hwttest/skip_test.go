package hwttest

import (
	"testing"

	"github.com/hashedwheel/hwt"
)

// A wrapper that is a struct has no address to which a weak pointer could refer.
func TestEngineThatIsNoPointerIsNotCollected(t *testing.T) {
	c := checkNamed(t, "AbandonedTimerIsCollectable")
	c.on(t, func(t *testing.T) {
		c.run(t, func(tb testing.TB, c Config) hwt.Engine { return struct{ hwt.Engine }{newBroken(tb, c, nil)} })
	})
}

func TestFactoryOfANilTimerFails(t *testing.T) {
	tb := &recorder{TB: t}
	done := make(chan struct{})
	go func() { // FailNow ends the goroutine.
		defer close(done)
		timerFactory(func(testing.TB, Config) hwt.Timer { return nil })(tb, Config{})
	}()
	<-done
	assert.True(t, tb.failed.Load())
}

// A factory skips the checks of an option that its engine does not have.
func TestFactoryMaySkipACheck(t *testing.T) {
	for _, name := range []string{"ProfilesNameTheTask", "NeverEarlyOnTheRealClock"} {
		skipped := false
		ok := t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { skipped = t.Skipped() })
			c := checkNamed(t, name)
			c.on(t, func(t *testing.T) {
				c.run(t, func(tb testing.TB, _ Config) hwt.Engine {
					tb.Skip("no such option")
					return nil
				})
			})
		})
		assert.True(t, ok)
		assert.True(t, skipped, name)
	}
}
