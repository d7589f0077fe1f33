package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Ground rules
//
//	S1. The connection of the writer, and state, belong to the writer goroutine. During a job
//	    with alone, the goroutine writes nothing: the job's caller writes on another
//	    connection.
//	S2. The functions of jobs may run several times: in a group, in the same group without
//	    jobs that were withdrawn, and alone if the group failed. They leave their results
//	    in variables of the caller, who reads them after done.
//	S3. A caller whose context ends withdraws its job, at the latest after afterContext. The
//	    job then has no effect, unless the writer has sealed it: its COMMIT is under way,
//	    and the caller does not know the effect.

// maxGroup is the number of operations from which on a group takes no more jobs.
const maxGroup = 4096

// job is a caller's part of a transaction.
type job struct {
	run   func(*txn) error
	size  int  // number of operations
	alone bool // runs once, in a separate transaction
	first bool // passes the jobs that wait
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

// state is the row of hwt_store as of the last commit.
type state struct {
	generation, worker     int64
	pending, claimed, dead int64
	large                  int64 // payloads
}

// txn is a transaction of the writer.
type txn struct {
	b    *sqliteBackend
	c    *conn
	s    state  // written back before COMMIT
	room *int64 // bytes that further entries may take, or nil before the first one
}

// do has the writer run a function in a transaction, and returns after COMMIT.
func (b *sqliteBackend) do(ctx context.Context, size int, run func(*txn) error) error {
	return b.wait(ctx, &job{run: run, size: size, done: make(chan struct{})})
}

// wait is do for a job.
func (b *sqliteBackend) wait(ctx context.Context, j *job) error {
	if err := b.enqueue(ctx, j); err != nil {
		return err
	}
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
	}
	if j.stage.CompareAndSwap(queued, withdrawn) {
		return context.Cause(ctx)
	}
	// It runs: its result is worth more than the context's error.
	select {
	case <-j.done:
		return j.err
	case <-time.After(afterContext):
		j.withdraw()
		return context.Cause(ctx)
	}
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

func (b *sqliteBackend) enqueue(ctx context.Context, j *job) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed != nil {
		return b.failed
	}
	if len(b.jobs) == cap(b.jobs) { // withdrawn jobs must not make it grow
		b.jobs = slices.DeleteFunc(b.jobs, func(j *job) bool { return j.stage.Load() == withdrawn })
	}
	if j.first {
		b.jobs = slices.Insert(b.jobs, 0, j)
	} else {
		b.jobs = append(b.jobs, j)
	}
	select {
	case b.wake <- struct{}{}:
	default: // already requested
	}
	return nil
}

// takeAlone returns the next job if it is alone.
func (b *sqliteBackend) takeAlone() (alone *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.jobs) > 0 && b.jobs[0].alone && alone == nil {
		if b.jobs[0].stage.CompareAndSwap(queued, taken) {
			alone = b.jobs[0]
		}
		b.jobs = slices.Delete(b.jobs, 0, 1)
	}
	return alone
}

// take returns the next jobs of up to max operations that may share a transaction.
func (b *sqliteBackend) take(max int) (jobs []*job, size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, j := range b.jobs {
		if size >= max || j.alone {
			break
		}
		n++
		if j.stage.CompareAndSwap(queued, taken) {
			jobs = append(jobs, j)
			size += j.size
		}
	}
	clear(b.jobs[:n])
	if b.jobs = b.jobs[n:]; len(b.jobs) == 0 {
		b.jobs = nil
	}
	return jobs, size
}

// write is the writer goroutine.
func (b *sqliteBackend) write() {
	defer close(b.written)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-b.wake:
		case <-tick.C:
			b.checkNames()
			b.seeOthers(0)
		case <-b.life.Done():
			return
		}
		for b.group() {
			runtime.Gosched() // the callers just answered call again, and share the next commit
		}
	}
}

// group runs the waiting jobs in one transaction, or one that is alone, and reports whether there were any. It takes
// them once the transaction has begun, which another process may delay: until then, callers can
// withdraw them.
func (b *sqliteBackend) group() bool {
	b.mu.Lock()
	idle := len(b.jobs) == 0
	b.mu.Unlock()
	if idle {
		return false
	}
	if j := b.takeAlone(); j != nil {
		j.err = j.run(nil)
		close(j.done)
		return true
	}
	var jobs []*job
	size := 0
	err := errWithdrawn
	for errors.Is(err, errWithdrawn) {
		jobs = slices.DeleteFunc(jobs, func(j *job) bool { return j.stage.Load() == withdrawn })
		err = b.transaction(func(t *txn) (err error) {
			for i := 0; err == nil; i++ {
				if i == len(jobs) {
					more, n := b.take(maxGroup - size)
					jobs, size = append(jobs, more...), size+n
				}
				if i == len(jobs) {
					return seal(jobs...)
				}
				err = jobs[i].run(t)
			}
			return err
		})
	}
	if err != nil && len(jobs) == 0 { // it did not begin
		jobs, _ = b.take(maxGroup)
	}
	for _, j := range jobs {
		j.err = err
		if err != nil && len(jobs) > 1 && b.failure() == nil {
			j.err = b.retry(j)
		}
		close(j.done)
	}
	return true
}

// retry runs a job of a failed group alone: the other callers are not affected by one caller's error.
func (b *sqliteBackend) retry(j *job) error {
	j.stage.CompareAndSwap(sealed, taken) // if COMMIT failed
	return b.transaction(func(t *txn) error {
		if j.stage.Load() == withdrawn {
			return errWithdrawn
		}
		if err := j.run(t); err != nil {
			return err
		}
		return seal(j)
	})
}

// transaction runs f between BEGIN IMMEDIATE and COMMIT. An error of f rolls back. An
// error of COMMIT that leaves its effect open closes the store.
func (b *sqliteBackend) transaction(f func(*txn) error) error {
	if err := b.begin(); err != nil {
		return err
	}
	t := &txn{b: b, c: b.writer, s: b.state}
	err := f(t)
	if err == nil && t.s != b.state {
		err = t.store()
	}
	if err != nil {
		b.writer.rollback()
		b.fatal(err)
		return translate(context.Background(), err)
	}
	if err := b.writer.run("COMMIT"); err != nil {
		b.writer.rollback()
		b.stale = true
		b.fatal(err)
		if errors.Is(err, sqlite3.IOERR_SHMSIZE) {
			// The log has the commit, and its index does not: a recovery before the next
			// commit, which takes its place, would find it.
			return fmt.Errorf("commit: the file system is full: %w", err)
		}
		return translate(context.Background(), fmt.Errorf("commit: %w", err))
	}
	b.state = t.s
	b.dirty.Store(true)
	return nil
}

// begin begins a transaction. It waits for other processes, which may hold the lock for
// as long as they like, until the store is closed.
func (b *sqliteBackend) begin() error {
	if now := time.Now(); now.Sub(b.checked) >= pollEvery {
		b.checked = now
		b.checkNames()
	}
	began := time.Now()
	for {
		if err := b.failure(); err != nil {
			return err
		}
		err := b.writer.run("BEGIN IMMEDIATE")
		if err == nil {
			b.held.add(began, time.Now())
			break
		}
		if !errors.Is(err, sqlite3.BUSY) {
			b.fatal(err)
			return translate(context.Background(), err)
		}
		select {
		case <-b.life.Done():
			return backend.ErrClosed
		case <-time.After(time.Millisecond):
		}
	}
	b.seeOthers(pollEvery)
	if !b.stale {
		return nil
	}
	err := b.load()
	if err != nil {
		b.writer.rollback()
	}
	return err
}

// load reads the state.
func (b *sqliteBackend) load() error {
	s, err := b.writer.state()
	if err == nil {
		b.state = s
	}
	b.stale = err != nil
	return translate(context.Background(), err)
}

// state reads the row of hwt_store.
func (c *conn) state() (s state, err error) {
	err = c.query("SELECT generation, worker, pending, claimed, dead, large FROM hwt_store").each(func(q *query) error {
		r := q.s
		s = state{r.ColumnInt64(0), r.ColumnInt64(1), r.ColumnInt64(2), r.ColumnInt64(3), r.ColumnInt64(4), r.ColumnInt64(5)}
		return nil
	})
	return s, err
}

// store writes the state.
func (t *txn) store() error {
	_, err := t.c.query("UPDATE hwt_store SET generation = ?, worker = ?, pending = ?, claimed = ?, dead = ?, large = ?").
		int(t.s.generation).int(t.s.worker).int(t.s.pending).int(t.s.claimed).int(t.s.dead).int(t.s.large).exec()
	return err
}

// seeOthers notes whether another process has written since the last call: state must be read
// anew. It makes workers look for the rows of that process, a pause after the last look or later,
// since a look reads all rows that are due soon.
func (b *sqliteBackend) seeOthers(pause time.Duration) {
	version, err := b.writer.query("PRAGMA data_version").integer()
	if err == nil && version != b.version {
		b.version = version
		b.stale, b.unseen = true, true
		b.dirty.Store(true) // that process may have died before its sync
	}
	if b.unseen && time.Since(b.looked) >= pause {
		b.unseen, b.looked = false, time.Now()
		b.announce(nil)
	}
}

// noRoom reports whether the log or its index could not grow. SQLite rolls the transaction
// back, and the file is intact. The driver returns the same error for a full file
// system and for other failed writes.
func noRoom(err error) bool {
	return errors.Is(err, sqlite3.FULL) || errors.Is(err, sqlite3.IOERR_WRITE) || errors.Is(err, sqlite3.IOERR_SHMSIZE)
}

// fatal closes the store for errors after which the file's state is unknown.
func (b *sqliteBackend) fatal(err error) {
	if errors.Is(err, sqlite3.IOERR) && !noRoom(err) || errors.Is(err, sqlite3.CORRUPT) {
		b.fail(fmt.Errorf("%w after an error of the disk: %w", backend.ErrClosed, translate(context.Background(), err)))
	}
}

// fail makes all further calls return err, and ends those that wait.
func (b *sqliteBackend) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == nil {
		b.failed = err
	}
	for _, j := range b.jobs {
		if j.stage.CompareAndSwap(queued, taken) {
			j.err = b.failed
			close(j.done)
		}
	}
	b.jobs = nil
}

func (b *sqliteBackend) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}
