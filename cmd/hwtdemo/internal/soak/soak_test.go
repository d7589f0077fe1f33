package soak_test

import (
	"context"
	"log/slog"
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

func hashed(onError func(hwt.Timeout, error), logger *slog.Logger) (soak.Timer, error) {
	return hashedwheel.New(hashedwheel.WithTickDuration(time.Millisecond),
		hashedwheel.WithErrorHandler(onError), hashedwheel.WithLogger(logger))
}

// run soaks what open makes, on the real clock: races are what it is for.
func run(t *testing.T, open func(func(hwt.Timeout, error), *slog.Logger) (soak.Timer, error)) *soak.Report {
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
	assert.Contains(t, r.Text(), "violations  0\n")
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

func TestABadTimerIsFoundOut(t *testing.T) {
	for want, spoil := range map[string]func(soak.Timer) soak.Timer{
		"early": func(timer soak.Timer) soak.Timer { return hasty{timer} },
		"lost":  func(timer soak.Timer) soak.Timer { return forgetful{timer} },
	} {
		r := run(t, func(onError func(hwt.Timeout, error), logger *slog.Logger) (soak.Timer, error) {
			timer, err := hashed(onError, logger)
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
