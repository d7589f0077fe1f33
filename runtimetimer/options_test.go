package runtimetimer_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestTypedNilIsAnError(t *testing.T) {
	timer, err := runtimetimer.New(&runtimetimer.Options{Executor: (*inline)(nil)})
	assert.Nil(t, timer)
	assert.EqualError(t, err, "runtimetimer: Options.Executor: (*runtimetimer_test.inline)(nil) (expected: nil for none, or an executor)")
}

func TestDefaults(t *testing.T) {
	for _, options := range []*runtimetimer.Options{nil, {}} {
		timer, err := runtimetimer.New(options)
		require.NoError(t, err)
		assert.Equal(t, "runtimetimer.Timer(runtimetimer, 0 pending)", timer.String())
	}
}

func TestValidOptionsAreAccepted(t *testing.T) {
	for _, limit := range []int64{0, 1, 1 << 40} {
		timer := newTimer(t, runtimetimer.Options{
			Name:               "orders",
			MaxPendingTimeouts: limit,
			Logger:             slog.New(slog.DiscardHandler),
			ErrorHandler:       func(hwt.Timeout, error) {},
			Executor:           inline{},
		})
		assert.Equal(t, "runtimetimer.Timer(orders, 0 pending)", timer.String())
	}
}

func TestNegativePendingLimitIsRejected(t *testing.T) {
	_, err := runtimetimer.New(&runtimetimer.Options{MaxPendingTimeouts: -1})
	assert.EqualError(t, err, "runtimetimer: Options.MaxPendingTimeouts: -1 (expected: 0 for no limit, or more)")
}

type inline struct{}

func (inline) Execute(task func()) error {
	task()
	return nil
}
