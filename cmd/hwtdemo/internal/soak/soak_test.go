package soak_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/soak"
	"github.com/hashedwheel/hwt/hashedwheel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func hashed(p soak.Parts) (soak.Timer, error) {
	options := []hashedwheel.Option{hashedwheel.WithTickDuration(time.Millisecond),
		hashedwheel.WithErrorHandler(p.OnError), hashedwheel.WithLogger(p.Logger)}
	if p.Executor != nil {
		options = append(options, hashedwheel.WithExecutor(p.Executor))
	}
	return hashedwheel.New(options...)
}

// run soaks what open makes, on the real clock: races are what it is for.
func run(t *testing.T, open func(soak.Parts) (soak.Timer, error)) *soak.Report {
	r, err := soak.New(soak.Config{
		Engines: []soak.Engine{{Name: "it", Open: open}},
		For:     300 * time.Millisecond, Round: 50 * time.Millisecond, Callers: 3, Seed: 1,
	}).Run(t.Context())
	require.NoError(t, err)
	return r
}

func TestAGoodTimerPasses(t *testing.T) {
	r := run(t, hashed)
	require.NoError(t, r.Err())
	e := r.Engines[0]
	assert.Positive(t, e.Rounds)
	assert.Positive(t, e.Faults)
	assert.Equal(t, e.Accepted, e.Expired+e.Cancelled+e.Unprocessed)
	assert.Positive(t, e.Looks)
	assert.Contains(t, r.Text(), "violations  0\n")
}

// A timer that loses what its executor should run, and nothing but that.
func TestATaskThatIsNeverRunIsFoundOut(t *testing.T) {
	ctx, over := context.WithCancel(t.Context())
	var lost sync.Once
	r, err := soak.New(soak.Config{
		For: time.Hour, Round: time.Hour, Callers: 1, Seed: seedWithExecutor,
		Engines: []soak.Engine{{Name: "it", Open: func(p soak.Parts) (soak.Timer, error) {
			inner := p.Executor
			p.Executor = execute(func(task func()) error {
				lose := false
				lost.Do(func() { lose = true })
				if lose {
					over()
					return nil
				}
				return inner.Execute(task)
			})
			return hashed(p)
		}}},
	}).Run(ctx)
	require.NoError(t, err)
	assert.ErrorContains(t, r.Err(), "the executor dropped")
}

// seedWithExecutor is one whose first round has an executor.
const seedWithExecutor = 1

type execute func(task func()) error

func (f execute) Execute(task func()) error { return f(task) }

// untilFound soaks round after round until something is wrong.
func untilFound(t *testing.T, open func(soak.Parts) (soak.Timer, error)) *soak.Report {
	ctx, over := context.WithCancel(t.Context())
	s := soak.New(soak.Config{
		Engines: []soak.Engine{{Name: "it", Open: open}},
		For:     time.Hour, Round: 50 * time.Millisecond, Callers: 3, Seed: 1,
	})
	go func() {
		for s.Progress().Violations == 0 {
			time.Sleep(time.Millisecond)
		}
		over()
	}()
	r, err := s.Run(ctx)
	require.NoError(t, err)
	return r
}

// hasty is a timer that runs tasks early.
type hasty struct{ soak.Timer }

func (h hasty) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	return h.Timer.NewTimeout(task, delay/2)
}

// forgetful is a timer whose Stop loses a timeout.
type forgetful struct{ soak.Timer }

func (f forgetful) Stop() []hwt.Timeout {
	all := f.Timer.Stop()
	return all[:max(len(all)-1, 0)]
}

// muddled is a timer whose counts are wrong until it is stopped, and right then.
type muddled struct {
	soak.Timer
	stopped atomic.Bool
}

func (m *muddled) Stop() []hwt.Timeout {
	m.stopped.Store(true)
	return m.Timer.Stop()
}

func (m *muddled) Stats() hwt.Stats {
	s := m.Timer.Stats()
	if !m.stopped.Load() {
		s.Cancelled, s.Pending = s.Cancelled+s.Pending+1, -1
	}
	return s
}

func TestCountsThatAreWrongInTheMiddleOfARoundAreFoundOut(t *testing.T) {
	r := untilFound(t, func(p soak.Parts) (soak.Timer, error) {
		timer, err := hashed(p)
		return &muddled{Timer: timer}, err
	})
	assert.ErrorContains(t, r.Err(), "in the middle of the round")
}

func TestABadTimerIsFoundOut(t *testing.T) {
	for want, spoil := range map[string]func(soak.Timer) soak.Timer{
		"early": func(timer soak.Timer) soak.Timer { return hasty{timer} },
		"lost":  func(timer soak.Timer) soak.Timer { return forgetful{timer} },
	} {
		r := untilFound(t, func(p soak.Parts) (soak.Timer, error) {
			timer, err := hashed(p)
			return spoil(timer), err
		})
		assert.Error(t, r.Err(), want)
		assert.NotContains(t, r.Text(), "violations  0\n", want)
	}
}

func TestAnInterruptEndsItWithAReport(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := soak.New(soak.Config{
		Engines: []soak.Engine{{Name: "it", Open: hashed}}, For: time.Hour, Round: time.Hour, Callers: 1,
	}).Run(ctx)
	require.NoError(t, err)
	assert.True(t, r.Interrupted)
	assert.NoError(t, r.Err())
}
