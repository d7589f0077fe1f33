package hwttest

import (
	"testing"

	"github.com/hashedwheel/hwt"
)

func TestFactoryOfANilTimerFails(t *testing.T) {
	tb := &recorder{TB: t}
	done := make(chan struct{})
	go func() { // FailNow ends the goroutine.
		defer close(done)
		timerFactory(func(testing.TB, Options) hwt.Timer { return nil })(tb, Options{})
	}()
	<-done
	assert.True(t, tb.failed.Load())
}

// A factory skips the checks of an option that its engine does not have, and a check skips an
// engine without an address to which a weak pointer could refer.
func TestChecksAreSkipped(t *testing.T) {
	skip := func(tb testing.TB, _ Options) hwt.Engine {
		tb.Skip("no such option")
		return nil
	}
	for name, factory := range map[string]func(testing.TB, Options) hwt.Engine{
		"ProfilesNameTheTask":      skip,
		"NeverEarlyOnTheRealClock": skip,
		"AbandonedTimerIsCollectable": func(tb testing.TB, c Options) hwt.Engine {
			return struct{ hwt.Engine }{newBroken(tb, c, nil)}
		},
	} {
		skipped := false
		ok := t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { skipped = t.Skipped() })
			c := checkNamed(t, name)
			c.on(t, func(t *testing.T) { c.run(t, factory) })
		})
		assert.True(t, ok)
		assert.True(t, skipped, name)
	}
}
