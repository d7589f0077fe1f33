package runtimetimer_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestBadOptionsAreErrorsThatSayWhatIsAllowed(t *testing.T) {
	for want, option := range map[string]runtimetimer.Option{
		"runtimetimer: WithExecutor: nil (expected: an executor)":                 runtimetimer.WithExecutor(nil),
		"runtimetimer: WithLogger: nil (expected: a logger)":                      runtimetimer.WithLogger(nil),
		"runtimetimer: WithErrorHandler: nil (expected: a function)":              runtimetimer.WithErrorHandler(nil),
		`runtimetimer: WithName: "" (expected: a name)`:                           runtimetimer.WithName(""),
		"runtimetimer: New: option 0 is nil (expected: a With function's result)": nil,
	} {
		timer, err := runtimetimer.New(option)
		assert.Nil(t, timer, want)
		assert.EqualError(t, err, want)
	}
}

func TestGoodOptionsAreTaken(t *testing.T) {
	for _, limit := range []int64{-1, 0, 1, 1 << 40} {
		timer := newTimer(t,
			runtimetimer.WithName("orders"),
			runtimetimer.WithMaxPendingTimeouts(limit),
			runtimetimer.WithLogger(slog.New(slog.DiscardHandler)),
			runtimetimer.WithErrorHandler(func(hwt.Timeout, error) {}),
			runtimetimer.WithExecutor(inline{}),
		)
		assert.Equal(t, "runtimetimer.Timer(orders, 0 pending)", timer.String())
	}
}

type inline struct{}

func (inline) Execute(task func()) error {
	task()
	return nil
}
