package engine

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/task"
	"github.com/hashedwheel/hwt/internal/timertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// flatWheel is the simplest Wheel there may be, which also holds the core to
// the rules that Wheel states.
type flatWheel struct {
	filed  map[*Timeout]filing
	adds   int
	tick   int64
	moves  []int64
	faults []string
	onAdd  func() // called within Add, if not nil
}

type filing struct {
	tick int64
	turn int
}

func (w *flatWheel) fault(ok bool, format string, args ...any) {
	if !ok {
		w.faults = append(w.faults, fmt.Sprintf(format, args...))
	}
}

func (w *flatWheel) MoveTo(tick int64) {
	w.fault(tick > w.tick, "moved from %d to %d", w.tick, tick)
	w.fault(tick <= w.Next(), "moved to %d past %d", tick, w.Next())
	w.tick = tick
	w.moves = append(w.moves, tick)
}

func (w *flatWheel) Add(t *Timeout, tick int64) {
	_, twice := w.filed[t]
	w.fault(!twice && t.place == place{}, "added twice")
	w.fault(tick >= w.tick, "added for %d at %d", tick, w.tick)
	w.adds++
	if w.onAdd != nil {
		w.onAdd()
	}
	w.filed[t] = filing{tick, w.adds}
	t.place = place{chunk: 1}
}

func (w *flatWheel) Remove(t *Timeout) {
	_, in := w.filed[t]
	w.fault(in, "removed what is not there")
	delete(w.filed, t)
	t.place = place{}
}

func (w *flatWheel) Prefetch([]Move) {}

func (w *flatWheel) Expire(due []*Timeout) []*Timeout {
	var now []*Timeout
	for t, at := range w.filed {
		if at.tick <= w.tick {
			now = append(now, t)
		}
	}
	slices.SortFunc(now, func(a, b *Timeout) int { return cmp.Compare(w.filed[a].turn, w.filed[b].turn) })
	for _, t := range now {
		delete(w.filed, t)
	}
	return append(due, now...)
}

func (w *flatWheel) Next() int64 {
	next := int64(math.MaxInt64)
	for _, at := range w.filed {
		next = min(next, at.tick)
	}
	return next
}

func (w *flatWheel) All(yield func(*Timeout) bool) {
	for t := range w.filed {
		if !yield(t) {
			return
		}
	}
}

// tick is that of the tests.
const tick = 10 * time.Millisecond

// timer is the least that an engine has to add to a Handle.
type timer struct {
	Handle
	wheel *flatWheel
	log   lockedBuffer
	errs  []error
}

// newTimer makes a timer whose wheel is checked when the test is over.
func newTimer(t *testing.T, change ...func(*Config)) *timer {
	e := &timer{wheel: &flatWheel{filed: map[*Timeout]filing{}}}
	cfg := Config{Tick: tick, StopWait: 5 * time.Second, Wheel: e.wheel, Runner: &task.Runner{
		Name:    "test",
		Logger:  slog.New(slog.NewTextHandler(&e.log, nil)),
		OnError: func(_ hwt.Timeout, err error) { e.errs = append(e.errs, err) },
	}}
	for _, f := range change {
		f(&cfg)
	}
	e.Init(e, cfg)
	t.Cleanup(func() {
		e.Stop()
		assert.Empty(t, e.wheel.faults)
	})
	return e
}

// newIdleTimer makes a timer that believes its worker to be at work, so that the
// test can be the worker.
func newIdleTimer(t *testing.T, change ...func(*Config)) *timer {
	e := newTimer(t, append(change, func(c *Config) { c.StopWait = 0 })...)
	e.core.phase.Store(ticking)
	return e
}

// after is AfterFunc where it must succeed.
func (e *timer) after(t *testing.T, delay time.Duration, f func()) *Timeout {
	t.Helper()
	timeout, err := e.AfterFunc(delay, f)
	require.NoError(t, err)
	return timeout.(*Timeout)
}

func (e *timer) add(t *testing.T, what hwt.TimerTask, delay time.Duration) *Timeout {
	t.Helper()
	timeout, err := e.NewTimeout(what, delay)
	require.NoError(t, err)
	return timeout.(*Timeout)
}

// inBubble runs a test in fake time.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	timertest.Bubble(t, f)
}

// pass lets time go by and everything that is due by then run.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// balanced asserts that the counts add up while nothing is in flight.
func (e *timer) balanced(t *testing.T) hwt.Stats {
	t.Helper()
	s := e.Stats()
	assert.Equal(t, s.Accepted, s.Pending+s.Expired+s.Cancelled+s.Unprocessed, "%+v", s)
	return s
}

func nothing() {}

// teller is a task that counts what it is told.
type teller struct {
	mu        sync.Mutex
	ran, told int
	then      func()
}

func (c *teller) Run(hwt.Timeout) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran++
	return nil
}

func (c *teller) Cancelled(hwt.Timeout) {
	c.mu.Lock()
	c.told++
	c.mu.Unlock()
	if c.then != nil {
		c.then()
	}
}

func (c *teller) counts() [2]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return [2]int{c.ran, c.told}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// take returns what was written since the last time.
func (b *lockedBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.buf.Reset()
	return b.buf.String()
}
