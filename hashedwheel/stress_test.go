package hashedwheel

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// storm does all operations of a timer concurrently.
type storm struct {
	timer                                           *Timer
	ran, notified, cancelled, accepted, unprocessed atomic.Int64
	early                                           atomic.Int64
	recent                                          [512]atomic.Pointer[hwt.Timeout]
}

// wild is a task that sometimes misbehaves, and records whether it ran early.
type wild struct {
	s        *storm
	earliest atomic.Int64
	ends     atomic.Int32
}

var stormBegan = time.Now()

// far is long enough for some timeouts to be pending at Stop, and short enough to keep
// them below the limit.
const far = 100 * time.Millisecond

func (w *wild) Run(hwt.Timeout) error {
	if int64(time.Since(stormBegan)) < w.earliest.Load() {
		w.s.early.Add(1)
	}
	w.ends.Add(1)
	w.s.ran.Add(1)
	switch rand.N(100) {
	case 0:
		panic("wild")
	case 1:
		rarelyExit()
	case 2:
		return errors.New("wild")
	case 3:
		w.s.schedule()
	case 4:
		w.s.randomOp()
	}
	return nil
}

func (w *wild) Cancelled(hwt.Timeout) {
	w.s.notified.Add(1)
	rarelyExit()
}

// rarelyExit sometimes ends the goroutine: seldom, because on one busy processor the next
// worker may wait behind all other goroutines.
func rarelyExit() {
	if rand.N(2000) == 0 {
		runtime.Goexit()
	}
}

func (s *storm) schedule() error {
	w := &wild{s: s}
	delay := rand.N(12*time.Millisecond) - 2*time.Millisecond
	if rand.N(4) == 0 {
		delay = far
	}
	w.earliest.Store(int64(time.Since(stormBegan)) + int64(delay))
	timeout, err := s.timer.NewTimeout(w, delay)
	if err != nil {
		return err
	}
	s.accepted.Add(1)
	s.recent[rand.N(len(s.recent))].Store(&timeout)
	return nil
}

// randomOp cancels or resets a recent timeout of any goroutine.
func (s *storm) randomOp() {
	p := s.recent[rand.N(len(s.recent))].Load()
	if p == nil {
		return
	}
	timeout := *p
	w := timeout.Task().(*wild)
	switch rand.N(4) {
	case 0, 1:
		if timeout.Cancel() {
			w.ends.Add(1)
			s.cancelled.Add(1)
		}
	case 2:
		timeout.Reset(far) // the earliest time stays as it is
	default:
		w.earliest.Store(0)
		timeout.Reset(rand.N(3 * time.Millisecond))
	}
}

// The real clock, because preemption makes these races.
func TestStormEndsEachTimeoutOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	unprocessed := int64(0)
	for _, procs := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(procs)
		for name, options := range map[string]Options{
			"one bucket": {TicksPerWheel: 1},
			"executor":   {TicksPerWheel: 8, Executor: spawn{}},
			"limit":      {TicksPerWheel: 64, MaxPendingTimeouts: 500},
		} {
			unprocessed += rage(t, name, options)
		}
	}
	assert.Positive(t, unprocessed)
}

// spawn is an executor that runs each task on a new goroutine.
type spawn struct{}

func (spawn) Execute(task func()) error {
	go task()
	return nil
}

// rage runs a storm and returns how many timeouts Stop ended. With a limit these may be
// none, while all places belong to cancelled timeouts.
func rage(t *testing.T, name string, options Options) int64 {
	options.TickDuration = time.Millisecond
	options.Logger = slog.New(slog.DiscardHandler)
	options.ErrorHandler = func(hwt.Timeout, error) {}
	timer, err := New(&options)
	require.NoError(t, err)
	s := &storm{timer: timer}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := 0; ; i++ {
				err := s.schedule()
				if errors.Is(err, hwt.ErrStopped) {
					return
				}
				s.randomOp()
				if i%8 == 0 || err != nil {
					runtime.Gosched() // after a sleep, it would always run before the worker
				}
			}
		})
	}
	require.Eventually(t, func() bool {
		st := timer.Stats()
		return min(st.Expired, st.Cancelled) > 500
	}, 20*time.Second, 10*time.Millisecond, name)
	for _, timeout := range timer.Stop() {
		timeout.Task().(*wild).ends.Add(1)
		s.unprocessed.Add(1)
	}
	all.Wait()
	require.Eventually(t, func() bool {
		st := timer.Stats()
		return s.ran.Load() == st.Expired && s.notified.Load() == st.Cancelled
	}, 10*time.Second, time.Millisecond, "%s: ran %d, notified %d: %+v", name, s.ran.Load(), s.notified.Load(), timer.Stats())
	st := timer.Stats()
	assert.Equal(t, s.accepted.Load(), st.Accepted, name)
	assert.Equal(t, s.cancelled.Load(), st.Cancelled, name)
	assert.Equal(t, s.unprocessed.Load(), st.Unprocessed, name)
	assert.Equal(t, st.Accepted, st.Expired+st.Cancelled+st.Unprocessed, name)
	assert.Zero(t, st.Pending, name)
	assert.Zero(t, s.early.Load(), "%s: ran early", name)
	for i := range s.recent {
		if p := s.recent[i].Load(); p != nil {
			require.EqualValues(t, 1, (*p).Task().(*wild).ends.Load(), name)
		}
	}
	return st.Unprocessed
}
