package hwt_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
)

func TestPoolRunsAndQueuesUpToItsLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := hwt.NewPool(2, 3)
		require.NoError(t, err)
		var running, most, ran atomic.Int64
		task := func() {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			ran.Add(1)
		}
		for range 5 {
			require.NoError(t, p.Execute(task))
		}
		require.ErrorIs(t, p.Execute(task), hwt.ErrPoolFull)
		time.Sleep(1500 * time.Millisecond)
		require.NoError(t, p.Execute(task), "two tasks have left the queue")
		time.Sleep(time.Minute)
		assert.EqualValues(t, 6, ran.Load())
		assert.EqualValues(t, 2, most.Load())
	}) // The bubble waits for all goroutines: idle workers have ended.
}

func TestPoolReplacesWorkersThatATaskEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := hwt.NewPool(1, 10)
		require.NoError(t, err)
		ran := 0
		for range 5 {
			require.NoError(t, p.Execute(func() { ran++; runtime.Goexit() }))
		}
		synctest.Wait()
		assert.Equal(t, 5, ran)
		require.NoError(t, p.Execute(func() { ran++ }), "no worker is counted that has ended")
		synctest.Wait()
		assert.Equal(t, 6, ran)
	})
}

func TestPoolWithoutAQueueRejectsWhenBusy(t *testing.T) {
	p, err := hwt.NewPool(1, 0)
	require.NoError(t, err)
	end := make(chan struct{})
	require.NoError(t, p.Execute(func() { <-end }))
	assert.ErrorIs(t, p.Execute(func() {}), hwt.ErrPoolFull)
	close(end)
	assert.ErrorIs(t, new(hwt.Pool).Execute(func() {}), hwt.ErrPoolFull)
}

func TestPoolRejectsLimitsOutOfRange(t *testing.T) {
	for text, limits := range map[string][2]int{
		"hwt: NewPool: workers is 0 (expected: at least 1)": {0, 1},
		"hwt: NewPool: queue is -1 (expected: 0 to ":        {1, -1},
	} {
		_, err := hwt.NewPool(limits[0], limits[1])
		assert.ErrorIs(t, err, hwt.ErrInvalid)
		assert.ErrorContains(t, err, text)
	}
}

// TestPoolRunsEachAcceptedTaskOnce needs real processors.
func TestPoolRunsEachAcceptedTaskOnce(t *testing.T) {
	p, err := hwt.NewPool(3, 5)
	require.NoError(t, err)
	var callers sync.WaitGroup
	var accepted, ran atomic.Int64
	for range 8 {
		callers.Go(func() {
			for range 2000 {
				if p.Execute(func() { ran.Add(1) }) == nil {
					accepted.Add(1)
				}
			}
		})
	}
	callers.Wait()
	assert.Eventually(t, func() bool { return ran.Load() == accepted.Load() }, time.Minute, time.Millisecond)
}

func TestShutdownWaitsForThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := hwt.NewPool(1, 10)
		require.NoError(t, err)
		timer, err := hashedwheel.New(&hashedwheel.Options{Executor: p})
		require.NoError(t, err)
		var ran atomic.Int64
		for range 3 {
			_, err := timer.AfterFunc(0, func() { time.Sleep(time.Minute); ran.Add(1) })
			require.NoError(t, err)
		}
		time.Sleep(time.Second)
		_, err = timer.Shutdown(context.Background())
		require.NoError(t, err)
		assert.EqualValues(t, 3, ran.Load())
	})
}
