package hwt_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
)

// plain is a Timer, and a Timeout of it, without contexts.
type plain struct {
	hwt.Timeout
	hwt.Engine
}

func (p plain) Timer() hwt.Timer { return struct{ hwt.Timer }{p.Engine} }

func TestContextTaskFuncRunsWithoutATimer(t *testing.T) {
	var seen []context.Context
	errDone := errors.New("done")
	task := hwt.ContextTaskFunc(func(ctx context.Context, _ hwt.Timeout) error {
		seen = append(seen, ctx)
		return errDone
	})
	assert.Equal(t, errDone, task.Run(nil))
	assert.Equal(t, errDone, task.Run(plain{}))
	assert.Equal(t, []context.Context{context.Background(), context.Background()}, seen)
}

func TestShutdownErrorCountsRemainingTasks(t *testing.T) {
	err := error(&hwt.ShutdownError{Running: 2, Waiting: 5, Tasks: []string{"shop.check"}, Err: context.Canceled})
	assert.EqualError(t, err, "hwt: shutdown left 2 running and 5 waiting (worker: shop.check): context canceled")
	assert.ErrorIs(t, err, context.Canceled)
	err = &hwt.ShutdownError{Waiting: 1, Err: context.DeadlineExceeded}
	assert.EqualError(t, err, "hwt: shutdown left 0 running and 1 waiting: context deadline exceeded")
}
