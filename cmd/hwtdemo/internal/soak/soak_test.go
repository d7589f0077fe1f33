package soak_test

import (
	"context"
	"errors"
	"iter"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/engines"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/soak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func hashed(o engines.Options) (hwt.Engine, error) { return engines.All[0].New(o) }

// It uses the real clock, to provoke races.
func TestGoodTimerPasses(t *testing.T) {
	r, err := soak.New(soak.Config{
		Engines: engines.All[:1], For: 300 * time.Millisecond, Round: 50 * time.Millisecond, Callers: 3, Seed: 1,
	}).Run(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Err())
	e := r.Engines[0]
	assert.Positive(t, e.Accepted)
	assert.Equal(t, e.Accepted, e.Expired+e.Cancelled+e.Unprocessed)
	assert.Positive(t, e.Looks)
	assert.Positive(t, e.Faults)
	assert.Contains(t, r.Text(), "violations  0\n")
}

// The executor loses one task.
func TestTaskThatNeverRunsIsDetected(t *testing.T) {
	t.Cleanup(soak.SetPatience(100 * time.Millisecond))
	ctx, over := context.WithCancel(t.Context())
	var lost sync.Once
	r, err := soak.New(soak.Config{
		For: time.Hour, Round: time.Hour, Callers: 1, Seed: seedWithExecutor,
		Engines: []engines.Engine{{Name: "it", New: func(o engines.Options) (hwt.Engine, error) {
			inner := o.Executor
			o.Executor = execute(func(task func()) error {
				lose := false
				lost.Do(func() { lose = true })
				if lose {
					over()
					return nil
				}
				return inner.Execute(task)
			})
			return hashed(o)
		}}},
	}).Run(ctx)
	require.NoError(t, err)
	assert.ErrorContains(t, r.Err(), "the executor dropped")
}

// seedWithExecutor is a seed whose first round has an executor.
const seedWithExecutor = 1

type execute func(task func()) error

func (f execute) Execute(task func()) error { return f(task) }

// untilFound soaks with several seeds, until a round finds the wanted violation. On a busy
// machine, another may come first, since the test is impatient.
func untilFound(t *testing.T, want string, spoil func(hwt.Engine) hwt.Engine) {
	for seed := range uint64(20) {
		text := firstFound(t, seed, spoil).Text()
		if regexp.MustCompile(want).MatchString(text) {
			return
		}
		t.Log(text)
	}
	t.Errorf("no round found: %s", want)
}

// firstFound soaks until a round finds a violation, but not for long. The last round gives up
// early, so firstFound waits for the rest of its tasks.
func firstFound(t *testing.T, seed uint64, spoil func(hwt.Engine) hwt.Engine) *soak.Report {
	ctx, over := context.WithCancel(t.Context())
	defer over()
	opened := func(o engines.Options) (hwt.Engine, error) {
		timer, err := hashed(o)
		require.NoError(t, err)
		t.Cleanup(func() { timer.Shutdown(context.Background()) })
		return spoil(timer), nil
	}
	s := soak.New(soak.Config{
		Engines: []engines.Engine{{Name: "it", New: opened}},
		For:     800 * time.Millisecond, Round: 50 * time.Millisecond, Callers: 3, Seed: seed,
	})
	go func() {
		for s.Progress().Violations == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		over()
	}()
	r, err := s.Run(ctx)
	require.NoError(t, err)
	return r
}

// hasty is a timer that runs tasks early.
type hasty struct{ hwt.Engine }

func (h hasty) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	return h.Engine.NewTimeout(task, delay/2)
}

// forgetful is a timer whose Stop loses a timeout.
type forgetful struct{ hwt.Engine }

func (f forgetful) Stop() []hwt.Timeout {
	all := f.Engine.Stop()
	return all[:max(len(all)-1, 0)]
}

// mixing is a timer whose NewTimeouts returns timeouts in another order.
type mixing struct{ hwt.Engine }

func (m mixing) NewTimeouts(tasks []hwt.TimerTask, delay time.Duration) ([]hwt.Timeout, error) {
	all, err := m.Engine.NewTimeouts(tasks, delay)
	slices.Reverse(all)
	return all, err
}

// partial is a timer whose NewTimeouts schedules half of a batch that it rejects.
type partial struct{ hwt.Engine }

func (p partial) NewTimeouts(tasks []hwt.TimerTask, delay time.Duration) ([]hwt.Timeout, error) {
	_, err := p.Engine.NewTimeouts(tasks[:len(tasks)/2], delay)
	return nil, errors.Join(err, hwt.ErrStopped)
}

// blind is a timer whose All skips every second timeout.
type blind struct{ hwt.Engine }

func (b blind) All() iter.Seq[hwt.Timeout] {
	return func(yield func(hwt.Timeout) bool) {
		show := false
		for timeout := range b.Engine.All() {
			if show = !show; show && !yield(timeout) {
				return
			}
		}
	}
}

// stuttering is a timer whose All yields each timeout twice.
type stuttering struct{ hwt.Engine }

func (s stuttering) All() iter.Seq[hwt.Timeout] {
	return func(yield func(hwt.Timeout) bool) {
		for timeout := range s.Engine.All() {
			for range 2 {
				if !yield(timeout) {
					return
				}
			}
		}
	}
}

// hurried is a timer whose Shutdown does not wait, and returns no error.
type hurried struct{ hwt.Engine }

func (h hurried) Shutdown(ctx context.Context) ([]hwt.Timeout, error) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	unprocessed, _ := h.Engine.Shutdown(ctx)
	return unprocessed, nil
}

// unsteady is a timer whose counts are wrong until it is stopped.
type unsteady struct {
	hwt.Engine
	stopped atomic.Bool
}

func (u *unsteady) Stop() []hwt.Timeout {
	u.stopped.Store(true)
	return u.Engine.Stop()
}

func (u *unsteady) Stats() hwt.Stats {
	s := u.Engine.Stats()
	if !u.stopped.Load() {
		s.Cancelled, s.Pending = s.Cancelled+s.Pending+1, -1
	}
	return s
}

func TestFaultyTimerIsDetected(t *testing.T) {
	t.Cleanup(soak.SetPatience(100 * time.Millisecond))
	for name, c := range map[string]struct {
		spoil func(hwt.Engine) hwt.Engine
		want  string
	}{
		"early":              {func(timer hwt.Engine) hwt.Engine { return hasty{timer} }, "[1-9][0-9]* early"},
		"lost":               {func(timer hwt.Engine) hwt.Engine { return forgetful{timer} }, "1 lost"},
		"wrong counts":       {func(timer hwt.Engine) hwt.Engine { return &unsteady{Engine: timer} }, "during the round"},
		"wrong deadlines":    {func(timer hwt.Engine) hwt.Engine { return hasty{timer} }, "[1-9][0-9]* wrong deadlines"},
		"mixed batches":      {func(timer hwt.Engine) hwt.Engine { return mixing{timer} }, "[1-9][0-9]* wrong batches"},
		"batches in part":    {func(timer hwt.Engine) hwt.Engine { return partial{timer} }, "do not add up"},
		"a blind All":        {func(timer hwt.Engine) hwt.Engine { return blind{timer} }, "All missed [1-9]"},
		"a stuttering All":   {func(timer hwt.Engine) hwt.Engine { return stuttering{timer} }, "repeated [1-9]"},
		"a hurried Shutdown": {func(timer hwt.Engine) hwt.Engine { return hurried{timer} }, "1 shutdowns that left"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			untilFound(t, c.want, c.spoil)
		})
	}
}

func TestInterruptEndsASoakWithAReport(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := soak.New(soak.Config{
		Engines: engines.All, For: time.Hour, Round: time.Hour, Callers: 1,
	}).Run(ctx)
	require.NoError(t, err)
	assert.True(t, r.Interrupted)
	assert.NoError(t, r.Err())
}

// threeRounds soaks the hashed wheel for three rounds. second is called before the second
// one, and its result when the timer of that round is stopped.
func threeRounds(t *testing.T, second func() (stopped func())) *soak.Report {
	ctx, over := context.WithCancel(t.Context())
	rounds := 0
	r, err := soak.New(soak.Config{
		For: time.Hour, Round: 50 * time.Millisecond, Callers: 3, Seed: 1,
		Engines: []engines.Engine{{Name: "it", New: func(o engines.Options) (hwt.Engine, error) {
			timer, err := hashed(o)
			switch rounds++; rounds {
			case 2:
				return crowded{timer, second()}, err
			case 3:
				over()
			}
			return timer, err
		}}},
	}).Run(ctx)
	require.NoError(t, err)
	return r
}

// crowded is a timer that calls stopped before it is stopped.
type crowded struct {
	hwt.Engine
	stopped func()
}

func (c crowded) Stop() []hwt.Timeout {
	c.stopped()
	return c.Engine.Stop()
}

func (c crowded) Shutdown(ctx context.Context) ([]hwt.Timeout, error) {
	c.stopped()
	return c.Engine.Shutdown(ctx)
}

func TestLeakAboveTheSlackIsDetected(t *testing.T) {
	var kept []byte
	r := threeRounds(t, func() func() {
		kept = make([]byte, soak.HeapSlack()*5/4)
		return func() {}
	})
	assert.ErrorContains(t, r.Err(), "heap: ")
	runtime.KeepAlive(kept)
}

func TestDescriptorsOfGoroutinesAreNoLeak(t *testing.T) {
	crowd := int(soak.HeapSlack() / 200) // of at least 300 bytes each
	r := threeRounds(t, func() func() {
		ctx, cancel := context.WithCancel(t.Context())
		for range crowd {
			go func() { <-ctx.Done() }()
		}
		return cancel
	})
	require.NoError(t, r.Err())
	assert.Greater(t, r.After.Peak, r.Before.Peak+int64(crowd)/2)
}
