package hwttest

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

var linearChecks = []check{
	// Real: goroutines on several processors, at random moments.
	{"CancelResetAndExpiryAreLinearizable", realClock, linearizable},
}

// lifeOp is an operation on a timeout.
type lifeOp int

const (
	opCancel lifeOp = iota
	opReset
	opIsExpired
	opIsCancelled
	opExpire // by the engine, some time before the task's first step
	opArm    // of an event; it returned no error
)

// lifeState is the state of a timeout in the sequential model.
type lifeState int

const (
	alive   lifeState = iota
	dead              // cancelled
	over              // expired
	unarmed           // an event before its first Arm
)

// step returns the state after op, and false if op would not have returned said.
func (s lifeState) step(op lifeOp, said bool) (lifeState, bool) {
	switch op {
	case opCancel:
		if s == alive {
			return dead, said
		}
		return s, !said
	case opReset:
		return s, said == (s == alive)
	case opIsExpired:
		return s, said == (s == over)
	case opIsCancelled:
		return s, said == (s == dead)
	case opArm:
		return alive, said
	default:
		return over, s == alive
	}
}

// lifeEvent is an operation that took from call to back and returned said.
type lifeEvent struct {
	op         lifeOp
	said       bool
	call, back time.Duration
}

// history holds the operations of concurrent goroutines.
type history struct {
	begin  time.Time // Immutable.
	mu     sync.Mutex
	events []lifeEvent // At most 32. Guarded by mu.
}

func newHistory() *history { return &history{begin: time.Now()} }

func (h *history) note(e lifeEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

// record calls f, which is op.
func (h *history) record(op lifeOp, f func() bool) {
	call := time.Since(h.begin)
	said := f()
	h.note(lifeEvent{op, said, call, time.Since(h.begin)})
}

// explained asserts that the events, which began in a state, have an order that the model
// allows and that respects the order of operations that did not overlap.
func (h *history) explained(tb testing.TB, begin lifeState) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return assert.True(tb, explained(begin, h.events), "no order explains %+v", h.events)
}

func explained(begin lifeState, events []lifeEvent) bool {
	type point struct {
		done  uint32 // a bit for each event
		state lifeState
	}
	failed := make(map[point]bool)
	var from func(p point) bool
	from = func(p point) bool {
		first := time.Duration(-1) // the first return of an event that is not done
		for i, e := range events {
			if p.done&(1<<i) == 0 && (first < 0 || e.back < first) {
				first = e.back
			}
		}
		if first < 0 {
			return true
		}
		if failed[p] {
			return false
		}
		for i, e := range events {
			if p.done&(1<<i) != 0 || e.call > first {
				continue
			}
			if next, ok := p.state.step(e.op, e.said); ok && from(point{p.done | 1<<i, next}) {
				return true
			}
		}
		failed[p] = true
		return false
	}
	return from(point{state: begin})
}

func linearizable(tb testing.TB, newTimer factory) {
	onProcs(func(procs int) {
		e := newTimer.start(tb, Options{TickDuration: time.Millisecond})
		for range 40 {
			if !liveThrough(tb, e).explained(tb, alive) {
				return
			}
		}
		e.Stop()
	})
}

// liveThrough records the operations of several goroutines on one timeout until it
// ends, and a little longer.
func liveThrough(tb testing.TB, e hwt.Engine) *history {
	h, ran := newHistory(), new(probe)
	timeout := schedule(tb, e, task(func(hwt.Timeout) {
		h.note(lifeEvent{opExpire, true, 0, time.Since(h.begin)})
		ran.ran.set()
	}), upTo(2*time.Millisecond))

	together(3, func(int) {
		for range 8 {
			time.Sleep(upTo(500 * time.Microsecond))
			switch op := lifeOp(rand.N(8)); op {
			case opCancel:
				h.record(op, timeout.Cancel)
			case opReset:
				h.record(op, func() bool { return timeout.Reset(upTo(time.Millisecond)) })
			case opIsCancelled:
				h.record(op, timeout.IsCancelled)
			default:
				h.record(opIsExpired, timeout.IsExpired)
			}
		}
	})
	eventually(tb, "the timeout has ended", func() bool { return timeout.IsCancelled() || ran.ran.count() == 1 })
	return h
}
