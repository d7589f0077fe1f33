package hwttest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

// RunTimer checks a timer that implements only [hwt.Timer], such as a wrapper that collects
// metrics. RunTimer runs the checks of [Run] about time, deadlines, ends, Cancel, Reset and
// Stop. These checks do not compare handles or tasks, since a wrapper may wrap both.
// newTimer is called as in Run, with no other field of Options set than TickDuration and
// MaxPendingTimeouts.
func RunTimer(t *testing.T, newTimer func(tb testing.TB, c Options) hwt.Timer) {
	runThemes(t, timerThemes(), timerFactory(newTimer))
}

// timerFactory returns a factory of engines that count the ends of a timer's timeouts.
func timerFactory(newTimer func(tb testing.TB, c Options) hwt.Timer) factory {
	return func(tb testing.TB, c Options) hwt.Engine {
		timer := newTimer(tb, c)
		require.NotNil(tb, timer)
		return &counted{Timer: timer, tb: tb}
	}
}

// timerThemes returns the checks that need only an hwt.Timer.
func timerThemes() []theme {
	return []theme{
		{"Time", timeChecks},
		{"Deadline", deadlineChecks},
		{"End", endChecks},
		{"Cancel", cancelChecks},
		{"Reset", resetChecks},
		{"Linear", linearChecks},
		{"Stop", stopChecks},
	}
}

// counted makes a timer an engine, with the methods that the checks of timerThemes call.
// counted counts the ends of timeouts by states, and replaces the handles that Stop
// returns.
type counted struct {
	hwt.Engine // nil: the checks do not call the other methods.
	hwt.Timer
	tb testing.TB

	stopping sync.RWMutex // Held for reading by NewTimeout and Cancel, for writing after the timer's Stop.

	mu   sync.Mutex
	live []*countedTimeout // Timeouts that had not ended at the last count. Guarded by mu.
	ends hwt.Stats         // Counts of all other timeouts. Guarded by mu.
}

// countedTimeout is a handle with the end that its state does not show.
type countedTimeout struct {
	hwt.Timeout
	engine      *counted
	task        hwt.TimerTask
	byCancel    atomic.Bool // Cancel returned true.
	unprocessed bool        // Stop returned it. Guarded by counted.mu.
}

func (t *countedTimeout) Timer() hwt.Timer    { return t.engine }
func (t *countedTimeout) Task() hwt.TimerTask { return t.task }

func (t *countedTimeout) Cancel() bool {
	t.engine.stopping.RLock()
	defer t.engine.stopping.RUnlock()
	ok := t.Timeout.Cancel()
	if ok {
		t.byCancel.Store(true)
	}
	return ok
}

func (c *counted) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	c.stopping.RLock()
	defer c.stopping.RUnlock()
	timeout, err := c.Timer.NewTimeout(task, delay)
	if err != nil {
		return timeout, err
	}
	t := &countedTimeout{Timeout: timeout, engine: c, task: task}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends.Accepted++
	c.live = append(c.live, t)
	return t, nil
}

func (c *counted) AfterFunc(delay time.Duration, f func()) (hwt.Timeout, error) {
	if f == nil {
		return c.NewTimeout(nil, delay)
	}
	return c.NewTimeout(task(func(hwt.Timeout) { f() }), delay)
}

// Stop returns as many timeouts as the timer's Stop, of the timeouts that Stop has
// cancelled.
func (c *counted) Stop() []hwt.Timeout {
	want := len(c.Timer.Stop())
	c.stopping.Lock() // No NewTimeout or Cancel is between effect and record.
	defer c.stopping.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	var stopped []hwt.Timeout
	for _, t := range c.live {
		if len(stopped) < want && t.IsCancelled() && !t.byCancel.Load() && !t.unprocessed {
			t.unprocessed = true
			stopped = append(stopped, t)
		}
	}
	if len(stopped) < want {
		c.tb.Errorf("Stop returned %d timeouts, but had cancelled %d", want, len(stopped))
	}
	return stopped
}

func (c *counted) Start() {}

func (c *counted) Pending() int64 { return c.Stats().Pending }

func (c *counted) Stats() hwt.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	live := c.live[:0]
	pending := int64(0)
	for _, t := range c.live {
		switch {
		case t.IsExpired():
			c.ends.Expired++
			c.ends.Lateness.Counts[0]++
		case t.IsCancelled() && t.byCancel.Load():
			c.ends.Cancelled++
		case t.IsCancelled() && t.unprocessed:
			c.ends.Unprocessed++
		default:
			live = append(live, t)
			if !t.IsCancelled() {
				pending++
			}
		}
	}
	clear(c.live[len(live):])
	c.live = live
	stats := c.ends
	stats.Pending = pending
	return stats
}
