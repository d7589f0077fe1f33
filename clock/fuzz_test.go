package clock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/enginetest"
)

// FuzzAsPackageTime reads its input as a program of calls on a few timers and tickers. It
// runs the program on package time and on clocks, and compares the results of Stop and
// Reset and all received values.
//
// Each step takes a little time, and all steps together take less than a unit, so
// that no timer is due at the moment of a call.
func FuzzAsPackageTime(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Add([]byte{0x00, 0x40, 0x80, 0x05, 0x42, 0x82, 0x04, 0x44, 0x84, 0x05, 0x02, 0x42, 0x05}) // timers without a delay
	f.Add([]byte{0x00, 0x48, 0x18, 0x48, 0x48, 0x20, 0x30, 0x48, 0x38})
	f.Add([]byte{0x04, 0x40, 0x0c, 0x90, 0x24, 0x58, 0x24, 0x30, 0x98, 0x24, 0x1c, 0x40, 0x24})
	f.Add([]byte{0x40, 0x0d, 0x42, 0x0d, 0x44, 0x0d, 0x42, 0x05, 0x0d, 0x05}) // a timer whose value is not received, and that is reset and stopped
	f.Add([]byte{0x41, 0x1d, 0x0d, 0x0d, 0x43, 0x05, 0x0d, 0x4c, 0x05, 0x0d}) // a ticker that is read late, reset and stopped
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 50 {
			program = program[:50]
		}
		enginetest.Bubble(t, func(t *testing.T) { require.Empty(t, disagreements(t, program)) })
	})
}

// disagreements runs the program on all shapes in parallel, and returns the steps in
// which a clock differs from package time.
func disagreements(t *testing.T, program []byte) (all []string) {
	machines := map[string]*machine{}
	for name, newTimer := range engines {
		timer, err := newTimer()
		if err != nil {
			return []string{err.Error()}
		}
		defer timer.Stop()
		machines[name] = newMachine(shapesOf(newClock(t, timer), timer.Pending))
	}
	model := newMachine(standard())
	defer model.stop()
	for i, op := range program {
		pass(unit / 51)
		want := model.step(op)
		for name, m := range machines {
			if got := m.step(op); got != want {
				all = append(all, fmt.Sprintf("step %d, %#02x: %s got %q, package time %q", i, op, name, got, want))
			}
		}
		if op&7 >= 5 { // three eighths of the steps let time pass
			pass(unit * time.Duration(1+op>>3&7))
		}
	}
	for _, m := range machines {
		m.stop()
	}
	return all
}

// machine runs programs on a few timers and tickers.
type machine struct {
	shapes  shapes
	start   time.Time
	timers  [3]timer
	tickers [3]ticker
	values  [6]<-chan time.Time
	runs    list[int]
}

func newMachine(s shapes) *machine { return &machine{shapes: s, start: time.Now()} }

// step does one operation, and returns its visible results. The low three bits are the
// operation, the next three the duration, and the highest two the timer or ticker.
func (m *machine) step(op byte) string {
	d, i := unit*time.Duration(op>>3&7), int(op>>6)%3
	switch op & 7 {
	case 0:
		return m.newTimer(i, d)
	case 1:
		return m.newTicker(i, max(d, unit))
	case 2:
		if m.timers[i] != nil {
			return fmt.Sprint("reset ", m.timers[i].Reset(d))
		}
	case 3:
		if m.tickers[i] != nil {
			m.tickers[i].Reset(max(d, unit))
		}
	case 4:
		return m.stopOne(i, op>>3&1 == 0)
	default:
		return m.receive()
	}
	return ""
}

// newTimer replaces a timer. The first one is from AfterFunc; the others have channels.
func (m *machine) newTimer(i int, d time.Duration) string {
	stopped := m.stopOne(i, true)
	if i == 0 {
		m.timers[i] = m.shapes.afterFunc(d, func() { m.runs.add(int(time.Since(m.start) / unit)) })
	} else {
		m.timers[i], m.values[i] = m.shapes.newTimer(d)
	}
	return stopped
}

func (m *machine) newTicker(i int, d time.Duration) string {
	stopped := m.stopOne(i, false)
	m.tickers[i], m.values[3+i] = m.shapes.newTicker(d)
	return stopped
}

func (m *machine) stopOne(i int, timer bool) string {
	if timer && m.timers[i] != nil {
		return fmt.Sprint("stop ", m.timers[i].Stop())
	}
	if !timer && m.tickers[i] != nil {
		m.tickers[i].Stop()
	}
	return ""
}

// receive receives from all channels. It returns the values, and the functions that ran.
func (m *machine) receive() (seen string) {
	for i, c := range m.values {
		if at, ok := received(c); ok {
			seen += fmt.Sprintf("%d: %v; ", i, at.Sub(m.start))
		}
	}
	return seen + fmt.Sprint(m.runs.take())
}

func (m *machine) stop() {
	for i := range m.timers {
		m.stopOne(i, true)
		m.stopOne(i, false)
	}
}
