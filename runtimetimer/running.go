package runtimetimer

import (
	"context"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/internal/enginekit"
)

// running lets Stop wait for the tasks and callbacks that have begun. The shards
// count them: up in the step that ends the timeout, under mu, and so never after
// Stop has drained the shard; down when they have returned.
type running struct {
	drained atomic.Bool   // Atomic: set by Stop, when the counts only fall any more; read by the shards.
	none    chan struct{} // closed when drained is set and nothing runs.
	closing sync.Once     // closes none.
}

// noteDrained notes that all shards are drained.
func (t *Timer) noteDrained() {
	t.running.drained.Store(true)
	t.checkNone()
}

// checkNone closes none if nothing runs. Stop calls it after setting drained, and
// perform after counting down to zero, so that the later of them sees both. Outside
// the bubble that the timer belongs to, closing would end the process.
func (t *Timer) checkNone() {
	if t.countRunning() == 0 && !t.clock.Foreign() {
		t.running.closing.Do(func() { close(t.running.none) })
	}
}

func (t *Timer) countRunning() (n int64) {
	for i := range t.shards {
		n += t.shards[i].running.Load()
	}
	return n
}

// await waits until nothing runs, for a limited time: a task may never return, or
// wait for this very call.
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
		t.runner.Warn("hwt: Stop gave up waiting for tasks that are running",
			enginekit.AttrRunning, t.countRunning(), enginekit.AttrWaited, t.stopWait)
	}
}

// awaitAll waits until nothing runs, or waits in the executor, or ctx ends.
func (t *Timer) awaitAll(ctx context.Context) error {
	if t.clock.Foreign() {
		return nil
	}
	own := int64(0)
	if insideTask() {
		own = 1
	}
	if t.runner.Await(ctx, own) {
		return nil
	}
	t.runner.EndContexts()
	return t.runner.Left(ctx, own)
}

// countGiven returns how many tasks and callbacks were handed to the runner, or are
// about to be.
func (t *Timer) countGiven() (n int64) {
	for i := range t.shards {
		n += t.shards[i].given()
	}
	return n
}

// perform runs the task of a timeout that expired, or its Cancelled. insideTask
// looks for it on the stack.
//
//go:noinline
func (s *shard) perform(t *timeout, how state) {
	defer func() {
		if s.running.Add(-1) == 0 && s.timer.running.drained.Load() {
			s.timer.checkNone()
		}
		s.timer.runner.Ended()
	}()
	if how == expired {
		s.timer.runner.Run(t, t.task)
	} else {
		s.timer.runner.Cancelled(t, t.task)
	}
}

var performEntry = reflect.ValueOf((*shard).perform).Pointer()

// insideTask reports whether the calling goroutine runs a task of any timer.
// Finding out which one would cost every task.
func insideTask() bool {
	var pcs [64]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		for _, pc := range pcs[:n] {
			if f := runtime.FuncForPC(pc - 1); f != nil && f.Entry() == performEntry {
				return true
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}
