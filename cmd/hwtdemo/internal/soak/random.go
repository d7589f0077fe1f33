package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/hashedwheel/hwt"
)

// One of so many operations, or of so many timeouts that are scheduled.
const (
	allEvery   = 4096
	batchEvery = 64
)

// call uses the timer until soon after ctx ends, as the caller of that number, and returns
// the number of its operations.
func (r *round) call(ctx context.Context, number int) (operations int64) {
	random := r.random(number)
	var mine [256]*entry
	for ; ctx.Err() == nil || operations%64 != 0; operations++ {
		slot := &mine[random.IntN(len(mine))]
		switch e := *slot; {
		case random.IntN(allEvery) == 0:
			r.checkAll(mine[:])
		case e != nil && e.pending():
			e.randomOp(random)
		case random.IntN(batchEvery) == 0:
			*slot = first(r.scheduleBatch(random, 1+random.IntN(maxBatch), randomDelay(random)))
		default:
			*slot = r.scheduleRandom(random)
		}
		if operations%64 == 0 && random.IntN(4) == 0 {
			time.Sleep(time.Duration(random.IntN(int(time.Millisecond))))
		}
	}
	return operations
}

// first returns the first entry of a batch, or nil if it is empty.
func first(batch []*entry) *entry {
	if len(batch) == 0 {
		return nil
	}
	return batch[0]
}

func (r *round) scheduleRandom(random *rand.Rand) *entry {
	return r.schedule(random.IntN(1000), randomDelay(random))
}

// randomOp does something to a timeout of the caller's.
func (e *entry) randomOp(random *rand.Rand) {
	switch random.IntN(8) {
	case 0, 1:
		e.cancel()
	case 2, 3, 4, 5:
		e.reset(randomDelay(random))
	case 6:
		e.checkDeadline()
	default:
		e.round.timer.Pending()
	}
}

// randomDelay is mostly short, at times zero, and at times far beyond the round.
func randomDelay(random *rand.Rand) time.Duration {
	switch random.IntN(8) {
	case 0:
		return 0
	case 1:
		return time.Duration(random.Int64())
	case 2:
		return time.Duration(random.IntN(int(time.Second)))
	}
	return time.Duration(random.IntN(int(20 * time.Millisecond)))
}

var errTask = errors.New("a task failed")

// injectFault misbehaves in about one of three tasks.
func (r *round) injectFault(e *entry, timeout hwt.Timeout) error {
	switch kind := e.kind; {
	case kind < 50:
		return errTask
	case kind < 100:
		panic(errTask)
	case kind < 150:
		runtime.Goexit()
	case kind < 250:
		again := r.scheduleRandom(rand.New(rand.NewPCG(r.seed, uint64(kind))))
		if again != nil && kind < 175 {
			again.cancel()
		}
	case kind < 300:
		r.timer.Stats()
		r.timer.Pending()
	case kind < 302:
		time.Sleep(2 * time.Millisecond)
	case kind == 302 || kind == 303:
		if time.Since(r.began) > r.length/5 {
			r.faults.Add(1)
			r.end()
			r.stop(kind == 303)
		}
	case kind == 304:
		return hwt.ContextTaskFunc(r.waitForContext).Run(timeout)
	}
	return nil
}

// badExecutor runs most of its tasks, now, soon or on another goroutine. It
// rejects or drops the rest.
type badExecutor struct{ round *round }

var errFull = errors.New("the executor is full")

// Execute implements hwt.Executor.
func (b badExecutor) Execute(task func()) error {
	r := b.round
	switch r.submitted.Add(1) % 64 { // the error handler counts the dropped ones as faults
	case 0:
		r.dropped.Add(1)
		return errFull
	case 1:
		r.dropped.Add(1)
		panic("the executor")
	case 2:
		r.dropped.Add(1)
		runtime.Goexit()
	case 3:
		r.faults.Add(1)
		time.Sleep(time.Millisecond)
	case 4:
		go func() {
			time.Sleep(time.Millisecond)
			task()
		}()
		return nil
	case 5, 6, 7, 8:
		task()
		return nil
	}
	go task()
	return nil
}
