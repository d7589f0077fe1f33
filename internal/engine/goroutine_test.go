package engine

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

// If this test fails, a new Go release prints stack traces in another form. Every Stop in a
// task then waits for Options.StopTimeout, until parseGoroutineID is fixed.
func TestGoroutineIDIsFoundInTheRuntimesTraces(t *testing.T) {
	own := goroutineID()
	assert.Positive(t, own)
	assert.Equal(t, own, goroutineID())
	other := make(chan int64)
	go func() { other <- goroutineID() }()
	assert.NotContains(t, []int64{0, own}, <-other)
	synctest.Test(t, func(t *testing.T) { assert.NotContains(t, []int64{0, own}, goroutineID()) })
}

func TestTraceOfAnotherFormHasNoID(t *testing.T) {
	assert.EqualValues(t, 7, parseGoroutineID([]byte("goroutine 7 [running, synctest bubble 1]:\nmain.main()")))
	for _, trace := range []string{"", "goroutine", "goroutine x [running]:", "Goroutine 7 [", "goroutine [running]", "goroutine 7, [running]:"} {
		assert.Zero(t, parseGoroutineID([]byte(trace)), trace)
	}
}

func TestUnknownGoroutineIsNotTheWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		e := newTimer(t)
		e.Start()
		pass(tick)
		assert.True(t, e.core.env.isWorker(e.core.worker.workerID.Load()))
		assert.False(t, e.core.env.isWorker(goroutineID()))
		e.core.worker.workerID.Store(0) // as if parsing failed
		assert.False(t, e.core.env.isWorker(0), "or no Stop would wait for the worker")
	})
}
