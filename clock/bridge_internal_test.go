package clock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/enginetest"
)

// TestConcurrentCallsOfDoneShareACore lets both calls continue after both saw no core.
func TestConcurrentCallsOfDoneShareACore(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		ctx, cancel := newIdleClock(t).WithTimeout(context.Background(), time.Hour)
		one, first := ctx.(*deadlineCtx).makeCore()
		other, second := ctx.(*deadlineCtx).makeCore()
		assert.True(t, first)
		assert.False(t, second)
		cancel()
		<-one
		<-other
	})
}

// TestErrAndCancelWaitUntilDoneIsClosed stops an end between its two steps (X2).
func TestErrAndCancelWaitUntilDoneIsClosed(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		ctx, cancel := newIdleClock(t).WithTimeout(context.Background(), time.Hour)
		done := ctx.Done()
		left := ctx.(*deadlineCtx).commit(canceled, nil, nil)
		got := make(chan error, 1)
		go func() { got <- ctx.Err() }()
		canceled := make(chan struct{})
		go func() { cancel(); close(canceled) }()
		synctest.Wait()
		assert.Empty(t, got, "Done is not closed yet")
		select {
		case <-canceled:
			assert.Fail(t, "cancel has returned before Done was closed")
		default:
		}
		left.cancelCore()
		synctest.Wait()
		require.Len(t, got, 1)
		assert.Equal(t, context.Canceled, <-got)
		<-done
		<-canceled
	})
}
