package clock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/timertest"
)

// TestTwoWhoWaitAtOnceShareACore has both find that there is none yet.
func TestTwoWhoWaitAtOnceShareACore(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		ctx, cancel := New(idleTimer{}).WithTimeout(context.Background(), time.Hour)
		one, first := ctx.(*deadlineCtx).makeCore()
		other, second := ctx.(*deadlineCtx).makeCore()
		assert.True(t, first)
		assert.False(t, second)
		cancel()
		<-one
		<-other
	})
}

// TestErrTellsOfAnEndNoSoonerThanDone stops an end between its two steps (X2).
func TestErrTellsOfAnEndNoSoonerThanDone(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		ctx, _ := New(idleTimer{}).WithTimeout(context.Background(), time.Hour)
		done := ctx.Done()
		left := ctx.(*deadlineCtx).settle(canceled, nil, nil)
		told := make(chan error, 1)
		go func() { told <- ctx.Err() }()
		synctest.Wait()
		assert.Empty(t, told, "Done is not closed yet")
		left.cancelCore()
		synctest.Wait()
		require.Len(t, told, 1)
		assert.Equal(t, context.Canceled, <-told)
		<-done
	})
}
