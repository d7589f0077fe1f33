package keyed_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/keyed"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tick = 10 * time.Millisecond

// newTimer returns a timer with few buckets that stops at the end of the test.
func newTimer(tb testing.TB, buckets int, options ...hashedwheel.Options) *hashedwheel.Timer {
	tb.Helper()
	o := append(options, hashedwheel.Options{})[0]
	o.TickDuration, o.TicksPerWheel = tick, buckets
	timer, err := hashedwheel.New(&o)
	require.NoError(tb, err)
	tb.Cleanup(func() { timer.Stop() })
	return timer
}

// onEngines runs f in a bubble for every engine.
func onEngines(t *testing.T, f func(t *testing.T, timer hwt.Timer)) {
	for name, newTimer := range map[string]func() (hwt.Timer, error){
		"hashed": func() (hwt.Timer, error) {
			return hashedwheel.New(&hashedwheel.Options{TickDuration: tick, TicksPerWheel: 8})
		},
		"hierarchical": func() (hwt.Timer, error) {
			return hierarchical.New(&hierarchical.Options{TickDuration: tick})
		},
		"runtime": func() (hwt.Timer, error) { return runtimetimer.New(nil) },
	} {
		t.Run("engine="+name, func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) {
				timer, err := newTimer()
				require.NoError(t, err)
				defer timer.Stop()
				f(t, timer)
			})
		})
	}
}

// event is a call of the wheel's callback.
type event struct {
	key, value int
	at         time.Time
}

// recorder is a callback that records its calls.
type recorder struct {
	mu     sync.Mutex
	events []event
}

func (r *recorder) fire(key, value int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event{key, value, time.Now()})
}

// take returns the calls since the last take.
func (r *recorder) take() []event {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.events
	r.events = nil
	return taken
}

// values returns the values of the calls since the last take.
func (r *recorder) values() []int {
	var values []int
	for _, e := range r.take() {
		values = append(values, e.value)
	}
	return values
}

// newWheel returns a wheel whose callbacks are recorded.
func newWheel(tb testing.TB, timer hwt.Timer, options ...keyed.Options[int, int]) (*keyed.Wheel[int, int], *recorder) {
	tb.Helper()
	r := new(recorder)
	o := append(options, keyed.Options[int, int]{})[0]
	w, err := keyed.New(timer, r.fire, &o)
	require.NoError(tb, err)
	return w, r
}

// set is Set where it must not fail.
func set(tb testing.TB, w *keyed.Wheel[int, int], key, value int, delay time.Duration) {
	tb.Helper()
	require.NoError(tb, w.Set(key, value, delay))
}

// move is Move where it must not fail.
func move(tb testing.TB, w *keyed.Wheel[int, int], key int, delay time.Duration) {
	tb.Helper()
	_, err := w.Move(key, delay)
	require.NoError(tb, err)
}

// pass advances fake time, and runs the due callbacks.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// holding is an executor that keeps tasks until release. The test controls the time
// between a timeout's expiry and its callback.
type holding struct {
	mu    sync.Mutex
	tasks []func()
}

func (h *holding) Execute(task func()) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tasks = append(h.tasks, task)
	return nil
}

// holds reports whether there is a task to release.
func (h *holding) holds() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.tasks) > 0
}

func (h *holding) release() (n int) {
	h.mu.Lock()
	tasks := h.tasks
	h.tasks = nil
	h.mu.Unlock()
	for _, task := range tasks {
		task()
	}
	return len(tasks)
}
