package runtimetimer

import (
	"context"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// running lets Stop wait for tasks and callbacks in progress. Each shard counts its own: up
// under mu when the timeout ends, so never after Stop has drained the shard; down when the task
// or callback has returned.
type running struct {
	drained atomic.Bool   // The counts no longer grow. Atomic: set by Stop, read by the shards.
	none    chan struct{} // Closed when drained is set, nothing runs, and no goroutine is on its way.
	closing sync.Once     // For the close of none.
}

// noteDrained records that all shards are drained.
func (t *Timer) noteDrained() {
	t.running.drained.Store(true)
	t.checkNone()
}

// checkDrained calls checkNone if drained is set.
func (t *Timer) checkDrained() {
	if t.running.drained.Load() {
		t.checkNone()
	}
}

// checkNone closes none if all counts are zero. Stop calls it after setting drained, and
// others after counting down to zero, so the last caller sees all counts at zero. Outside
// the timer's bubble, closing would end the process.
func (t *Timer) checkNone() {
	if t.countRunning()+t.countComing() == 0 && !t.clock.Foreign() {
		t.running.closing.Do(func() { close(t.running.none) })
	}
}

func (t *Timer) countRunning() (n int64) {
	for i := range t.shards {
		n += t.shards[i].running.Load()
	}
	return n
}

func (t *Timer) countComing() (n int64) {
	for i := range t.shards {
		n += t.shards[i].coming.Load()
	}
	return n
}

// await waits until all tasks and callbacks have returned, or StopTimeout has passed:
// a task may never return, or may wait for this very call.
func (t *Timer) await() {
	if t.clock.Foreign() || insideTask() {
		return
	}
	if t.stopWait <= 0 || t.clock.Apart() { // a bubble has no clock that limits the wait
		t.runner.EndContexts()
		return
	}
	patience := time.NewTimer(t.stopWait)
	defer patience.Stop()
	select {
	case <-t.running.none:
	case <-patience.C:
		t.runner.EndContexts()
		t.runner.Warn("hwt: Stop gave up waiting for running tasks",
			enginekit.AttrRunning, t.countRunning(), enginekit.AttrWaited, t.stopWait)
	}
}

// awaitAll waits until no task or callback runs or waits in the executor, or ctx
// ends.
func (t *Timer) awaitAll(ctx context.Context) error {
	if t.clock.Foreign() {
		return nil
	}
	own := t.own()
	if t.runner.Await(ctx, own) {
		return nil
	}
	return t.runner.GiveUp(t.runner.Left(ctx, own))
}

// own returns how often the calling goroutine is outstanding: as a running task, and as a
// hand-over to an executor. A timer with an executor counts both as one.
func (t *Timer) own() int64 {
	switch inside, handsOver := stack(); {
	case !inside:
		return 0
	case handsOver && t.runner.Executor == nil:
		return 2
	default:
		return 1
	}
}

// countSubmitted returns the number of tasks and callbacks that were handed to the runner
// or are about to be.
func (t *Timer) countSubmitted() (n int64) {
	for i := range t.shards {
		n += t.shards[i].submitted()
	}
	return n
}

// perform calls call. call runs the task of an expired timeout, or the Cancelled of a cancelled
// timeout. insideTask searches the stack for perform.
//
//go:noinline
func (s *shard) perform(t *timeout, call func(hwt.Timeout, hwt.TimerTask)) {
	defer func() {
		if s.running.Add(-1) == 0 {
			s.timer.checkDrained()
		}
		s.timer.runner.Ended()
	}()
	call(t.handle(), t.task)
}

var performEntry = reflect.ValueOf((*shard).perform).Pointer()

// insideTask reports whether the calling goroutine runs a task of any Timer.
func insideTask() bool {
	inside, _ := stack()
	return inside
}

// stack reports whether the calling goroutine runs a task of any Timer, and whether it
// hands that task over to an executor. To find out which Timer would cost every task.
func stack() (insideTask, handsOver bool) {
	var pcs [64]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		for _, pc := range pcs[:n] {
			if f := runtime.FuncForPC(pc - 1); f != nil {
				insideTask = insideTask || f.Entry() == performEntry
				handsOver = handsOver || f.Entry() == enginekit.SubmitEntry
			}
		}
		if n < len(pcs) {
			return insideTask, insideTask && handsOver
		}
	}
}
