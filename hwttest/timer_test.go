package hwttest

import (
	"testing"

	"github.com/hashedwheel/hwt"
)

// TestBrokenTimersFail asserts that RunTimer finds the faults of hwt.Timer and
// hwt.Timeout. TestCounting asserts that it passes without a fault.
func TestBrokenTimersFail(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several seconds")
	}
	byTimer := make(map[string]check)
	for _, theme := range timerThemes() {
		for _, c := range theme.checks {
			byTimer[c.name] = c
		}
	}
	found := 0
	for _, fault := range faults {
		if !breaksTimer(fault.inject) || fault.name == "resets are counted" { // visible in Stats only
			continue
		}
		for _, name := range fault.caughtBy {
			c, ok := byTimer[name]
			if !ok {
				continue
			}
			t.Run(fault.name+"/"+name, func(t *testing.T) {
				c.run = asTimer(c.run)
				c.on(t, func(t *testing.T) { assert.True(t, fails(t, c, fault.inject), "the fault was not detected") })
			})
			found++
		}
	}
	assert.Greater(t, found, 50)
}

// asTimer returns a check that sees only the hwt.Timer of an engine.
func asTimer(run func(testing.TB, factory)) func(testing.TB, factory) {
	return func(tb testing.TB, newTimer factory) {
		run(tb, timerFactory(func(tb testing.TB, c Options) hwt.Timer { return newTimer(tb, c) }))
	}
}

// breaksTimer reports whether inject breaks methods of hwt.Timer or hwt.Timeout, and no
// others.
func breaksTimer(inject func(*broken)) bool {
	b := new(broken)
	inject(b)
	timer := b.delay != nil || b.task != nil || b.newTimeout != nil || b.cancel != nil || b.reset != nil ||
		b.deadline != nil || b.stop != nil
	engine := b.batch != nil || b.afterFunc != nil || b.shutdown != nil || b.all != nil || b.stats != nil || b.pending != nil
	return timer && !engine
}
