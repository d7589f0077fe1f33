package idle_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// modelled is a watch and its model.
type modelled struct {
	thing   *thing
	watch   *idle.Watch
	last    time.Time
	timeout time.Duration
	stopped bool
	unhold  func() // nil unless it is held
}

// FuzzWatches runs a program of touches, stops, new timeouts, holds, and waits, and
// compares the closes and their times with a model.
func FuzzWatches(f *testing.F) {
	f.Add(uint8(1), []byte{0, 0, 0, 1, 200, 2, 1, 3, 2, 1, 255, 4, 60, 1, 255})
	f.Add(uint8(100), []byte{0, 1, 90, 2, 0, 1, 90, 2, 0, 1, 200, 0, 1, 255})
	f.Add(uint8(7), []byte("watch, touch, advance, release"))
	f.Fuzz(func(t *testing.T, tick uint8, program []byte) {
		enginetest.Bubble(t, func(t *testing.T) {
			const timeout = 100 * time.Millisecond
			m := model{tick: time.Duration(tick%120+1) * time.Millisecond, timeout: timeout}
			m.reaper = newReaper(t, newTimer(t, m.tick), timeout)
			m.run(t, program[:min(len(program), 400)])
			for _, w := range m.all {
				w.toggleHold(false)
			}
			time.Sleep(time.Minute)
			m.check(t)
			require.Zero(t, conserved(t, m.reaper).Watched)
		})
	})
}

type model struct {
	tick, timeout time.Duration
	reaper        *idle.Reaper
	all           []*modelled
}

// run executes the program: a byte is an operation, the next its operand.
func (m *model) run(t *testing.T, program []byte) {
	for i := 0; i+1 < len(program); i += 2 {
		operand := int(program[i+1])
		switch op := program[i] % 6; {
		case op == 0 || len(m.all) == 0:
			for range operand%3*40 + 1 {
				w := &modelled{thing: newThing(), last: time.Now(), timeout: m.timeout}
				w.watch = m.reaper.Watch(w.thing)
				m.all = append(m.all, w)
			}
		case op == 1:
			time.Sleep(time.Duration(operand) * time.Millisecond)
			synctest.Wait()
			m.check(t)
		default:
			m.act(op, m.all[operand%len(m.all)], operand)
		}
	}
}

func (m *model) act(op byte, w *modelled, operand int) {
	if w.stopped || w.thing.isClosed() {
		return
	}
	switch op {
	case 2:
		w.watch.Touch()
		w.last = time.Now()
	case 3:
		w.watch.Stop()
		w.stopped = true
	case 4:
		// The model has no timeout that becomes shorter: in between, the watch
		// could have ended.
		w.timeout = max(time.Duration(operand)*time.Millisecond, w.timeout)
		w.watch.SetTimeout(w.timeout)
	case 5:
		w.toggleHold(w.unhold == nil)
	}
}

// toggleHold begins a hold or releases it. Both are activity.
func (w *modelled) toggleHold(hold bool) {
	if hold == (w.unhold != nil) {
		return
	}
	w.last = time.Now()
	if hold {
		w.unhold = w.watch.Hold()
	} else {
		w.unhold()
		w.unhold = nil
	}
}

func (m *model) check(t *testing.T) {
	for _, w := range m.all {
		closes := w.thing.closes()
		deadline := w.last.Add(w.timeout).Sub(w.thing.start)
		now := time.Since(w.thing.start)
		switch {
		case w.stopped || w.unhold != nil || now < deadline:
			require.Empty(t, closes)
		case now > deadline+m.tick:
			require.Len(t, closes, 1)
		}
		if len(closes) > 0 {
			require.GreaterOrEqual(t, closes[0], deadline)
			require.LessOrEqual(t, closes[0], deadline+m.tick)
		}
	}
}
