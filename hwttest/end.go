package hwttest

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

var endChecks = []check{
	{"EveryTimeoutEndsOnce", fake, endsOnce},
	{"StopAgainstExpiryLosesNoTimeout", fake, stopAgainstExpiry},
	{"NewTimeoutAgainstStopLosesNoTimeout", fake, newTimeoutAgainstStop},
	// Real: these races need preemption and several processors.
	{"EveryTimeoutEndsOnceUnderRaces", realClock, conserved},
}

// fate is a task that counts the ends of its timeout by kind.
type fate struct{ ran, cancelled, unprocessed atomic.Int32 }

func newFate() *fate { return new(fate) }

func (f *fate) Run(hwt.Timeout) error {
	f.ran.Add(1)
	return nil
}

// cancel calls and counts timeout.Cancel.
func (f *fate) cancel(timeout hwt.Timeout) {
	if timeout.Cancel() {
		f.cancelled.Add(1)
	}
}

func (f *fate) ends() [3]int32 {
	return [3]int32{f.ran.Load(), f.cancelled.Load(), f.unprocessed.Load()}
}

// stopAndCount calls Stop and counts its result.
func stopAndCount(e hwt.Engine) {
	for _, timeout := range e.Stop() {
		timeout.Task().(*fate).unprocessed.Add(1)
	}
}

// conservation asserts that each of fates ended once, and that the engine counted the
// same ends. No call or task may be in progress.
func conservation(tb testing.TB, e hwt.Engine, fates []*fate) {
	var sum [3]int64
	for _, f := range fates {
		total := int32(0)
		for i, n := range f.ends() {
			sum[i] += int64(n)
			total += n
		}
		require.Equal(tb, 1, total, "ends of a timeout: ran, cancelled, unprocessed = %v", f.ends())
	}
	s := balanced(tb, e)
	assert.Equal(tb, len(fates), s.Accepted, "accepted")
	assert.Equal(tb, sum, [3]int64{s.Expired, s.Cancelled, s.Unprocessed}, "expired, cancelled, unprocessed")
	assert.Zero(tb, e.Pending(), "pending")
}

func endsOnce(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	expire, _ := scheduleAll(tb, e, 100, 3*tick, newFate)
	cancel, timeouts := scheduleAll(tb, e, 100, time.Second, newFate)
	remain, _ := scheduleAll(tb, e, 100, time.Hour, newFate)
	pass(5 * tick)
	for i, timeout := range timeouts {
		cancel[i].cancel(timeout)
		cancel[i].cancel(timeout)
	}
	late, _ := scheduleAll(tb, e, 100, 0, newFate)
	assert.LessOrEqual(tb, e.Pending(), int64(200))
	stopAndCount(e)
	stopAndCount(e)
	pass(2 * time.Hour)

	assert.Equal(tb, [3]int32{1, 0, 0}, expire[0].ends())
	assert.Equal(tb, [3]int32{0, 1, 0}, cancel[0].ends())
	assert.Equal(tb, [3]int32{0, 0, 1}, remain[0].ends())
	fates := append(append(append(expire, cancel...), remain...), late...)
	conservation(tb, e, fates)
}

// stopAgainstExpiry stops the engine at the deadline of all timeouts.
func stopAgainstExpiry(tb testing.TB, newTimer factory) {
	for range 50 {
		e := newTimer.start(tb, Options{})
		var fates []*fate
		atOnce(2*tick,
			func() { fates, _ = scheduleAll(tb, e, 50, 2*tick, newFate) },
			func() { stopAndCount(e) })
		pass(time.Second)
		conservation(tb, e, fates)
	}
}

func newTimeoutAgainstStop(tb testing.TB, newTimer factory) {
	for round := range 30 {
		e := newTimer.start(tb, Options{})
		var mu sync.Mutex
		var fates []*fate
		together(4, func(i int) {
			if i == 0 {
				time.Sleep(time.Duration(round%3) * tick)
				stopAndCount(e)
				return
			}
			own := scheduleUntilStopped(tb, e, 3*tick)
			mu.Lock()
			defer mu.Unlock()
			fates = append(fates, own...)
		})
		pass(time.Second)
		conservation(tb, e, fates)
	}
}

// scheduleUntilStopped schedules until the engine rejects a timeout, tries some more,
// and returns the accepted tasks.
func scheduleUntilStopped(tb testing.TB, e hwt.Engine, maxDelay time.Duration) []*fate {
	var fates []*fate
	for refused := 0; refused < 3; {
		f := new(fate)
		_, err := e.NewTimeout(f, upTo(maxDelay))
		if err == nil {
			fates = append(fates, f)
			if len(fates)%16 == 0 {
				time.Sleep(tick / 8) // Lets time pass in a bubble.
			}
			assert.Zero(tb, refused, "accepted after a refusal")
			continue
		}
		assert.ErrorIs(tb, err, hwt.ErrStopped)
		refused++
	}
	return fates
}

// conserved calls all methods concurrently, and stops the engine at the same time.
func conserved(tb testing.TB, newTimer factory) {
	onProcs(func(procs int) {
		e := newTimer.start(tb, Options{TickDuration: time.Millisecond})
		h := &hammer{e: e}
		h.run(tb, 4)
		eventually(tb, "every expired task has run", func() bool { return h.running() == 0 })
		conservation(tb, e, h.fates)
	})
}

// hammer calls an engine's methods concurrently.
type hammer struct {
	e     hwt.Engine
	known [256]atomic.Pointer[hwt.Timeout] // timeouts that any goroutine may cancel or reset

	mu    sync.Mutex
	fates []*fate
}

func (h *hammer) run(tb testing.TB, producers int) {
	const span = 100 * time.Millisecond
	begin := time.Now()
	together(producers+3, func(i int) {
		switch {
		case i < producers:
			h.produce(tb)
		case i == producers:
			for time.Since(begin) < span {
				assert.LessOrEqual(tb, 0, h.e.Pending(), "pending")
				time.Sleep(50 * time.Microsecond)
			}
		default:
			time.Sleep(span)
			stopAndCount(h.e)
		}
	})
}

// produce schedules timeouts, and cancels and resets the timeouts of all goroutines, until the
// engine is stopped.
func (h *hammer) produce(tb testing.TB) {
	var own []*fate
	for {
		f := new(fate)
		timeout, err := h.e.NewTimeout(f, upTo(4*time.Millisecond)-time.Millisecond)
		if err != nil {
			assert.ErrorIs(tb, err, hwt.ErrStopped)
			break
		}
		own = append(own, f)
		h.known[rand.N(len(h.known))].Store(&timeout)
		if rand.N(4) == 0 {
			f.cancel(timeout)
		}
		h.randomOp()
		if len(own)%100 == 0 {
			time.Sleep(upTo(time.Millisecond)) // Lets some of them expire.
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fates = append(h.fates, own...)
}

func (h *hammer) randomOp() {
	p := h.known[rand.N(len(h.known))].Load()
	if p == nil {
		return
	}
	timeout := *p
	switch rand.N(3) {
	case 0:
		timeout.Task().(*fate).cancel(timeout)
	case 1:
		timeout.Reset(upTo(4*time.Millisecond) - time.Millisecond)
	case 2:
		_ = timeout.IsExpired() || timeout.IsCancelled()
	}
}

// running returns the number of expired tasks that have not run.
func (h *hammer) running() int64 {
	n := h.e.Stats().Expired
	for _, f := range h.fates {
		n -= int64(f.ran.Load())
	}
	return n
}
