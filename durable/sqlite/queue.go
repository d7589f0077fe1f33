package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// job is a caller's part of a transaction.
type job struct {
	run   func(*txn) error
	size  int  // number of operations
	alone bool // runs outside a transaction
	first bool // passes the jobs that wait
	seen  int  // obstacles that have ended before its wait. Guarded by the mu of queue.
	stage atomic.Int32
	err   error // result, after done
	done  chan struct{}
}

// The stages of a job.
const (
	queued    = int32(iota)
	taken     // by the writer
	sealed    // COMMIT is under way
	withdrawn // by its caller
)

// withdraw reports whether the job has no effect.
func (j *job) withdraw() bool {
	return j.stage.CompareAndSwap(queued, withdrawn) || j.stage.CompareAndSwap(taken, withdrawn)
}

// errWithdrawn rolls back a transaction with a withdrawn job.
var errWithdrawn = errors.New("withdrawn")

// seal keeps the callers from withdrawing their jobs, or returns errWithdrawn if one has.
func seal(jobs ...*job) error {
	for i, j := range jobs {
		if !j.stage.CompareAndSwap(taken, sealed) {
			for _, j := range jobs[:i] {
				j.stage.Store(taken)
			}
			return errWithdrawn
		}
	}
	return nil
}

// queue has the jobs that wait for the writer goroutine, and the end of the store.
type queue struct {
	wake chan struct{}      // there are jobs
	life context.Context    // ends with Close
	end  context.CancelFunc // of life

	trouble backend.Trouble

	mu       sync.Mutex
	jobs     []*job // Guarded by mu.
	failed   error  // why no call can succeed any more. Guarded by mu.
	obstacle error  // why the writer waits, or nil. Guarded by mu.
	last     error  // obstacle. Guarded by mu.
	begun    int    // number of obstacles so far. Guarded by mu.
}

func newQueue() *queue {
	q := &queue{wake: make(chan struct{}, 1)}
	q.life, q.end = context.WithCancel(context.Background())
	return q
}

// do has the writer run a function in a transaction, and returns after COMMIT.
func (q *queue) do(ctx context.Context, size int, run func(*txn) error) error {
	return q.wait(ctx, &job{run: run, size: size, done: make(chan struct{})})
}

// wait is do for a job.
func (q *queue) wait(ctx context.Context, j *job) error {
	if err := q.enqueue(ctx, j); err != nil {
		return err
	}
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
	}
	if j.stage.CompareAndSwap(queued, withdrawn) {
		return q.ended(ctx, j)
	}
	// It runs: its result is worth more than the context's error.
	select {
	case <-j.done:
		return j.err
	case <-time.After(afterContext):
		j.withdraw()
		return q.ended(ctx, j)
	}
}

// The obstacles of the writer.
var (
	errLocked = errors.New("another process or store keeps the file locked")
	errOpen   = errors.New("a transaction of Store.DB is open")
)

// obstruct notes why the writer waits, or with nil that it does not.
func (q *queue) obstruct(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil && q.obstacle == nil {
		q.begun++
	}
	if q.obstacle = err; err != nil {
		q.last = err
	}
}

// ended returns the error of a job's caller after the end of its context, with the last reason for which the
// writer has waited during the job. The context may be that of the transaction, too, which then ends with it.
func (q *queue) ended(ctx context.Context, j *job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.begun == j.seen {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), q.last)
}

// afterContext is the time for which a caller waits for a job that runs after the end of its
// context.
const afterContext = 50 * time.Millisecond

// resultsOf returns the results of a job that succeeded, or its error.
func resultsOf[T any](results *[]T, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return *results, nil
}

func (q *queue) enqueue(ctx context.Context, j *job) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failed != nil {
		return q.failed
	}
	if len(q.jobs) == cap(q.jobs) { // withdrawn jobs must not make it grow
		q.jobs = slices.DeleteFunc(q.jobs, func(j *job) bool { return j.stage.Load() == withdrawn })
	}
	if j.seen = q.begun; q.obstacle != nil {
		j.seen--
	}
	if j.first {
		q.jobs = slices.Insert(q.jobs, 0, j)
	} else {
		q.jobs = append(q.jobs, j)
	}
	select {
	case q.wake <- struct{}{}:
	default: // already requested
	}
	return nil
}

// takeAlone returns the next job if it is alone.
func (q *queue) takeAlone() (alone *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.jobs) > 0 && q.jobs[0].alone && alone == nil {
		if q.jobs[0].stage.CompareAndSwap(queued, taken) {
			alone = q.jobs[0]
		}
		q.jobs = slices.Delete(q.jobs, 0, 1)
	}
	return alone
}

// take returns the next jobs of up to max operations that may share a transaction.
func (q *queue) take(max int) (jobs []*job, size int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, j := range q.jobs {
		if size >= max || j.alone {
			break
		}
		n++
		if j.stage.CompareAndSwap(queued, taken) {
			jobs = append(jobs, j)
			size += j.size
		}
	}
	clear(q.jobs[:n])
	if q.jobs = q.jobs[n:]; len(q.jobs) == 0 {
		q.jobs = nil
	}
	return jobs, size
}

// fail makes all further calls return err, and ends those that wait.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failed == nil {
		q.failed = err
	}
	for _, j := range q.jobs {
		if j.stage.CompareAndSwap(queued, taken) {
			j.err = q.failed
			close(j.done)
		}
	}
	q.jobs = nil
}

func (q *queue) failure() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failed
}

// waitForOthers waits for other processes. They may hold the lock for as long as they like.
func (q *queue) waitForOthers(ctx context.Context, _ int) bool {
	select {
	case <-q.life.Done():
		return false
	case <-ctx.Done():
		return false
	case <-time.After(time.Millisecond):
		return true
	}
}

// takeTurn lets the caller write on another connection than the writer's, until release. When the
// store is closed, the writer calls abort.
func (q *queue) takeTurn(ctx context.Context, abort func()) (release func(), err error) {
	begun, released := make(chan struct{}), make(chan struct{})
	j := &job{alone: true, done: make(chan struct{}), run: func(*txn) error {
		close(begun)
		select {
		case <-released:
		case <-q.life.Done():
			abort()
		}
		return nil
	}}
	if err := q.enqueue(ctx, j); err != nil {
		return nil, err
	}
	withdraw := ctx.Done()
	for {
		select {
		case <-begun:
			return func() { close(released) }, nil
		case <-j.done:
			select {
			case <-begun: // and the store is closed
				return func() { close(released) }, nil
			default:
				return nil, j.err
			}
		case <-withdraw:
			if j.stage.CompareAndSwap(queued, withdrawn) {
				return nil, q.ended(ctx, j)
			}
			withdraw = nil // it begins now
		}
	}
}
