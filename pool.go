package hwt

import (
	"errors"
	"sync"

	"github.com/hashedwheel/hwt/internal/check"
)

// ExecutorFunc is a function that is an Executor, such as the method of a worker pool.
type ExecutorFunc func(task func()) error

// Execute calls f(task).
func (f ExecutorFunc) Execute(task func()) error { return f(task) }

// ErrPoolFull is returned by [Pool.Execute].
var ErrPoolFull = errors.New("hwt: pool is full")

// Pool is an [Executor] for tasks that block. A Pool has a limited number of workers and a
// limited queue, and Execute never blocks. Create it with [NewPool]; the
// zero Pool rejects every task.
//
// A worker goroutine starts when a task needs it, and ends when the queue is empty, so an
// idle Pool has no goroutines and needs no Close. A timer's Shutdown waits for the tasks
// that the Pool has accepted from the timer.
type Pool struct {
	workers int         // Immutable.
	queue   chan func() // Sent to under mu only.

	mu      sync.Mutex
	running int // number of worker goroutines. Guarded by mu.
}

// NewPool returns a Pool with the given numbers of workers, at least 1, and of tasks in the
// queue, at least 0. The Pool allocates the queue immediately, at 8 bytes per task. An error matches [ErrInvalid].
func NewPool(workers, queue int) (*Pool, error) {
	switch {
	case workers < 1:
		return nil, check.Errorf("hwt: NewPool: workers is %d (expected: at least 1)", workers)
	case queue < 0 || queue > maxQueue:
		return nil, check.Errorf("hwt: NewPool: queue is %d (expected: 0 to %d)", queue, maxQueue)
	}
	return &Pool{workers: workers, queue: make(chan func(), queue)}, nil
}

// maxQueue bounds the memory of a queue to 8 GiB, or 512 MiB where pointers have 32 bits.
const maxQueue = 1 << (30 - 3*(1-^uint(0)>>63))

// Execute implements [Executor]. Execute runs task on a worker goroutine, after the tasks
// in the queue. Execute returns [ErrPoolFull] if all workers are busy and the queue is
// full. A panic of a task ends the program, as in a go statement; the tasks of a timer do
// not panic here. Execute is safe for concurrent use.
func (p *Pool) Execute(task func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.running < p.workers:
		p.running++
		go p.work(task)
	case len(p.queue) < cap(p.queue):
		p.queue <- task
	default:
		return ErrPoolFull
	}
	return nil
}

// work runs task and then the queue. If a task ends its goroutine, a new goroutine continues.
func (p *Pool) work(task func()) {
	for ok := true; ok; task, ok = p.next() {
		p.run(task)
	}
}

func (p *Pool) run(task func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if next, ok := p.next(); ok {
			go p.work(next)
		}
	}()
	task()
	returned = true
}

// next takes a task from the queue. The worker ends if the queue is empty.
func (p *Pool) next() (task func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case task = <-p.queue:
		return task, true
	default:
		p.running--
		return nil, false
	}
}
