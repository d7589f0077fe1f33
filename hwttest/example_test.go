package hwttest_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hwttest"
)

// Counting is a timer that counts started tasks. It wraps tasks and timeouts, and hides
// the method Cancelled.
type Counting struct {
	hwt.Timer
	Started atomic.Int64
}

func (c *Counting) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	if task == nil {
		return nil, hwt.ErrNilTask
	}
	timeout, err := c.Timer.NewTimeout(hwt.TaskFunc(func(timeout hwt.Timeout) error {
		c.Started.Add(1)
		return task.Run(handle{timeout, c, task})
	}), delay)
	if err != nil {
		return nil, err
	}
	return handle{timeout, c, task}, nil
}

type handle struct {
	hwt.Timeout
	timer *Counting
	task  hwt.TimerTask
}

func (h handle) Timer() hwt.Timer    { return h.timer }
func (h handle) Task() hwt.TimerTask { return h.task }

func TestCounting(t *testing.T) {
	hwttest.RunTimer(t, func(tb testing.TB, c hwttest.Options) hwt.Timer {
		timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: c.TickDuration, MaxPendingTimeouts: c.MaxPendingTimeouts})
		if err != nil {
			tb.Fatal(err)
		}
		return &Counting{Timer: timer}
	})
}

// A wrapper's test calls RunTimer, as TestCounting does.
func ExampleRunTimer() {
	timer, err := hashedwheel.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	counting := &Counting{Timer: timer}
	done := make(chan struct{})
	_, _ = counting.NewTimeout(hwt.TaskFunc(func(hwt.Timeout) error { close(done); return nil }), time.Millisecond)
	<-done
	counting.Stop()
	fmt.Println(counting.Started.Load(), "task started")
	// Output: 1 task started
}
