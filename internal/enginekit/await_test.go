package enginekit

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The last callback runs in a bubble, in which another call of Await gave up.
func TestCallbackInABubbleEndsAnAwaitOutside(t *testing.T) {
	var running atomic.Int64
	running.Store(1)
	r := &Runner{Running: running.Load}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.False(t, r.Await(ctx, 0))
	})
	ended := make(chan bool)
	go func() { ended <- r.Await(context.Background(), 0) }()
	waits := func() bool {
		r.waiters.mu.Lock()
		defer r.waiters.mu.Unlock()
		return len(r.waiters.callers) > 0
	}
	require.Eventually(t, waits, 10*time.Second, time.Millisecond)
	synctest.Test(t, func(*testing.T) {
		running.Store(0)
		r.Ended()
	})
	select {
	case ok := <-ended:
		assert.True(t, ok)
	case <-time.After(10 * time.Second):
		t.Fatal("Await does not return")
	}
}

// The last task ends after ctx, and before Left counts.
func TestGiveUpWithNothingLeftIsNoError(t *testing.T) {
	r := new(Runner)
	assert.NoError(t, r.GiveUp(r.Left(t.Context(), 0)))
	assert.NoError(t, r.TaskContext().Err())
	r.late.Add(1)
	assert.Error(t, r.GiveUp(r.Left(t.Context(), 0)))
	assert.Error(t, r.TaskContext().Err())
}
