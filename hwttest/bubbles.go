package hwttest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashedwheel/hwt"
)

// bubbleChecks cross the border of a bubble, and start outside, on the real clock.
var bubbleChecks = []check{
	{"MadeOutsidePanicsInABubble", realClock, madeOutside},
	{"CancelAndStopWorkInABubble", realClock, endedInside},
	{"StopInABubbleDoesNotWaitForATaskOutside", realClock, stoppedInside},
	{"MadeInABubblePanicsOutside", realClock, madeInside},
	{"MadeInABubbleStopsOutside", realClock, stoppedOutside},
}

// century exceeds the time from the year 2000, where bubbles begin, to now.
const century = 100 * 365 * 24 * time.Hour

const (
	outsideMessage = "hwt: timer made outside this synctest bubble: make the timer inside it"
	insideMessage  = "hwt: timer made inside a synctest bubble: it cannot be used outside"
)

// inBubble runs f in a bubble and returns its result. f cannot fail tb there.
func inBubble(tb testing.TB, f func() []any) (seen []any) {
	inner := tb
	if r, ok := tb.(interface{ Unwrap() testing.TB }); ok {
		inner = r.Unwrap()
	}
	synctest.Test(inner.(*testing.T), func(*testing.T) { seen = f() })
	return seen
}

// panicOf returns the value that f panics with, or nil.
func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// uses are the calls that need the timer's time.
func uses(e hwt.Engine, pending hwt.Timeout) []func() {
	return []func(){
		func() { _, _ = e.NewTimeout(nothing, 0) },
		func() { _, _ = e.AfterFunc(time.Hour, func() {}) },
		func() { pending.Reset(time.Minute) },
	}
}

func madeOutside(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{TickDuration: time.Millisecond, MaxPendingTimeouts: 2})
	first := inBubble(tb, func() []any { return []any{panicOf(func() { _, _ = e.NewTimeout(nothing, 0) })} })
	assert.Equal(tb, []any{outsideMessage}, first, "the first use")
	pending := schedule(tb, e, nothing, time.Hour)
	for _, age := range []time.Duration{0, century} {
		seen := inBubble(tb, func() (seen []any) {
			time.Sleep(age)
			for _, use := range uses(e, pending) {
				seen = append(seen, panicOf(use))
			}
			return seen
		})
		assert.Equal(tb, []any{outsideMessage, outsideMessage, outsideMessage}, seen, "a bubble %v old", age)
	}

	assert.Equal(tb, 1, e.Pending(), "a call that panics takes a place")
	assert.False(tb, pending.IsExpired())
	assert.True(tb, pending.Reset(time.Hour), "a panic ended the timeout")
	worksOutside(tb, e, "the timer continues outside")
}

func endedInside(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{TickDuration: time.Millisecond})
	first, second := schedule(tb, e, nothing, time.Hour), schedule(tb, e, nothing, time.Hour)
	seen := inBubble(tb, func() []any {
		cancelled, again := first.Cancel(), first.Cancel()
		return []any{cancelled, again, fmt.Sprint(second) != "", e.Pending(), len(e.Stop()), len(e.Stop())}
	})
	assert.Equal(tb, []any{true, false, true, int64(1), 1, 0}, seen)
	assert.True(tb, second.IsCancelled())
	balanced(tb, e)
}

func stoppedInside(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{TickDuration: time.Millisecond})
	var begun atomic.Bool
	release := make(chan struct{})
	defer close(release)
	schedule(tb, e, task(func(hwt.Timeout) {
		begun.Store(true)
		<-release
	}), 0)
	pending := schedule(tb, e, nothing, time.Hour)
	eventually(tb, "the task begins", begun.Load)
	seen := inBubble(tb, func() []any { return []any{len(e.Stop())} })
	assert.Equal(tb, []any{1}, seen)
	assert.True(tb, pending.IsCancelled())
}

// madeInside uses a timer of a live bubble from a goroutine outside.
func madeInside(tb testing.TB, newTimer factory) {
	calls, panics := make(chan []func()), make(chan any)
	go func() {
		for _, call := range <-calls {
			panics <- panicOf(call)
		}
	}()
	cancelled := false
	seen := inBubble(tb, func() (seen []any) {
		e := newTimer(tb, Options{TickDuration: time.Millisecond})
		defer e.Stop()
		pending, err := e.NewTimeout(nothing, time.Hour)
		time.Sleep(time.Minute)
		other, _ := e.NewTimeout(nothing, 2*time.Hour)
		time.Sleep(time.Minute) // the worker sleeps until the first deadline
		all := append(uses(e, pending),
			func() { e.Stop() },
			func() { _, _ = e.Shutdown(context.Background()) },
			func() { cancelled = pending.Cancel() })
		calls <- all
		seen = append(seen, err)
		for range all {
			seen = append(seen, <-panics)
		}
		seen = append(seen, e.Pending())
		time.Sleep(90 * time.Minute)
		return append(seen, pending.IsExpired(), other.IsExpired(), e.Pending())
	})
	assert.Equal(tb, []any{nil, insideMessage, insideMessage, insideMessage, insideMessage, insideMessage, nil, int64(1), false, false, int64(1)}, seen)
	assert.True(tb, cancelled, "Cancel works from anywhere")
}

// stoppedOutside stops a timer after its bubble has ended, as a test's cleanup does.
func stoppedOutside(tb testing.TB, newTimer factory) {
	var e hwt.Engine
	var timeout hwt.Timeout
	inBubble(tb, func() []any {
		e = newTimer(tb, Options{TickDuration: time.Millisecond})
		timeout, _ = e.NewTimeout(nothing, time.Hour)
		e.Stop()
		return nil
	})
	require.NotNil(tb, timeout)
	assert.Empty(tb, e.Stop())
	assert.False(tb, timeout.Cancel())
}
