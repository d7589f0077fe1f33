package engine

import (
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
	"github.com/hashedwheel/hwt/internal/engine/store"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// flatWheel is a minimal Wheel that also checks that the engine keeps the rules of Wheel.
type flatWheel struct {
	added  map[*Timeout]addition
	held   store.Buckets // the same timeouts
	adds   int
	tick   int64
	moves  []int64
	faults []string
	exact  bool   // Peek shows few timeouts
	onAdd  func() // called by Add, if not nil
	onNext func() // called by Next once, if not nil
}

func newFlatWheel() Wheel { return &flatWheel{added: map[*Timeout]addition{}} }

type addition struct {
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

func (w *flatWheel) Add(n *store.Node, tick int64) {
	t := timeoutOf(n)
	_, twice := w.added[t]
	w.fault(!twice && n.IsAt(elsewhere), "added twice")
	w.fault(tick >= w.tick, "added for %d at %d", tick, w.tick)
	w.adds++
	if w.onAdd != nil {
		w.onAdd()
	}
	w.added[t] = addition{tick, w.adds}
	if w.adds == 1 {
		w.held.Grow(1)
	}
	w.held.Add(0, n, 0)
}

func (w *flatWheel) Remove(n *store.Node) {
	t := timeoutOf(n)
	_, in := w.added[t]
	w.fault(in, "removed a timeout that is not stored")
	delete(w.added, t)
	w.held.Remove(n)
}

func (w *flatWheel) Bucket(int64) (uint32, bool) { return 0, w.adds > 0 }

func (w *flatWheel) Expire(due []*store.Node) []*store.Node {
	var now []*Timeout
	for t, at := range w.added {
		if at.tick <= w.tick {
			now = append(now, t)
		}
	}
	slices.SortFunc(now, func(a, b *Timeout) int { return cmp.Compare(w.added[a].turn, w.added[b].turn) })
	for _, t := range slices.Backward(now) { // newest first, as in the wheels, so that none moves into a gap
		delete(w.added, t)
		w.held.Remove(&t.node)
	}
	for _, t := range now {
		due = append(due, &t.node)
	}
	return due
}

func (w *flatWheel) Next() int64 {
	if f := w.onNext; f != nil {
		w.onNext = nil
		f()
	}
	next := int64(math.MaxInt64)
	for _, at := range w.added {
		next = min(next, at.tick)
	}
	return next
}

func (w *flatWheel) Peek(tick int64, limit int, nodes []*store.Node) ([]*store.Node, bool) {
	for t, at := range w.added {
		if at.tick == tick {
			nodes = append(nodes, &t.node)
		}
	}
	return nodes, w.exact && len(nodes) <= limit
}

func (w *flatWheel) Held() *store.Buckets { return &w.held }

func (w *flatWheel) Rings(rings []Ring) []Ring { return rings }

// tick is the tick duration of the tests.
const tick = 10 * time.Millisecond

// timer is a minimal engine.
type timer struct {
	Handle
	core  *Core // of the only worker
	shift shift // of the test, if it is the worker
	wheel *flatWheel
	log   enginetest.Buffer
	errs  []error
}

// newTimer returns a timer whose wheel is checked at the end of the test.
func newTimer(t *testing.T, change ...func(*Config)) *timer {
	e := &timer{wheel: &flatWheel{added: map[*Timeout]addition{}}}
	cfg := Config{Tick: tick, StopWait: 5 * time.Second, Workers: 1, NewWheel: func() Wheel { return e.wheel }, Runner: &enginekit.Runner{
		Name:    "test",
		Logger:  slog.New(slog.NewTextHandler(&e.log, nil)),
		OnError: func(_ hwt.Timeout, err error) { e.errs = append(e.errs, err) },
	}}
	for _, f := range change {
		f(&cfg)
	}
	e.Init(e, cfg)
	e.core = e.workers[0].core
	t.Cleanup(func() {
		e.Stop()
		assert.Empty(t, e.wheel.faults)
	})
	return e
}

// newIdleTimer returns a timer without a worker goroutine that acts as if it had one. The
// test takes the worker's steps.
func newIdleTimer(t *testing.T, change ...func(*Config)) *timer {
	e := newTimer(t, append(change, func(c *Config) { c.StopWait = 0 })...)
	e.core.worker.sleeper.Store(newSleeper(&e.core.worker.errands, e.core.worker.runRelief))
	e.core.intake.phase.Store(ticking)
	return e
}

// shut does the first part of Stop.
func (e *timer) shut() {
	e.stopping.Store(true)
	live.Add(-1)
	e.core.worker.shut()
	e.close()
}

// step takes a step of the worker.
func (e *timer) step() action { return e.core.worker.step(&e.shift) }

// finish takes steps until the worker would sleep.
func (e *timer) finish(t *testing.T) action {
	t.Helper()
	for range 1000 {
		if next := e.step(); next != goOn {
			return next
		}
		e.core.worker.fire()
	}
	t.Fatal("the worker never sleeps")
	return quit
}

// flood pushes n timeouts of an hour, like callers that neither assist nor wake the worker.
func (e *timer) flood(t *testing.T, n int) (timeouts []*Timeout) {
	t.Helper()
	for range n {
		timeout := &Timeout{state: newState(e.core.env.clock.Deadline(time.Hour)), home: &e.workers[0], task: hwt.TaskFunc(nil)}
		s := e.core.intake.of(timeout)
		s.accepted.Add(1)
		require.True(t, s.added.Push(timeout))
		timeouts = append(timeouts, timeout)
	}
	return timeouts
}

// after is AfterFunc where it must succeed.
func (e *timer) after(t *testing.T, delay time.Duration, f func()) *Timeout {
	t.Helper()
	timeout, err := e.AfterFunc(delay, f)
	require.NoError(t, err)
	return timeout.(*Timeout)
}

func (e *timer) add(t *testing.T, task hwt.TimerTask, delay time.Duration) *Timeout {
	t.Helper()
	timeout, err := e.NewTimeout(task, delay)
	require.NoError(t, err)
	return timeout.(*Timeout)
}

// inBubble runs a test in fake time.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	enginetest.Bubble(t, f)
}

// pass advances fake time, and runs the due tasks.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// balanced asserts that the counts add up. No call may be in progress.
func (e *timer) balanced(t *testing.T) hwt.Stats {
	t.Helper()
	s := e.Stats()
	assert.Equal(t, s.Accepted, s.Pending+s.Expired+s.Cancelled+s.Unprocessed, "%+v", s)
	return s
}

// nodes returns the nodes of timeouts, as in due.
func nodes(timeouts ...*Timeout) (all []*store.Node) {
	for _, t := range timeouts {
		all = append(all, &t.node)
	}
	return all
}

func nothing() {}

// noticeTask is a task that counts its runs and its notices of a Cancel.
type noticeTask struct {
	mu           sync.Mutex
	ran, noticed int
	then         func()
}

func (c *noticeTask) Run(hwt.Timeout) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran++
	return nil
}

func (c *noticeTask) Cancelled(hwt.Timeout) {
	c.mu.Lock()
	c.noticed++
	c.mu.Unlock()
	if c.then != nil {
		c.then()
	}
}

func (c *noticeTask) counts() [2]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return [2]int{c.ran, c.noticed}
}
