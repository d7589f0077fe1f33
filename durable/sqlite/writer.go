package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Ground rules
//
// SQLite has one writer at a time, and most of the cost of a small transaction is the sync at the end.
// One goroutine writes for all callers. It commits the jobs that wait as one group, with one sync. A
// failed job fails its group, and a caller may give up while its job is in a group. The rules say which
// jobs then run again, and which jobs have no effect.
//
//	S1. The connection of the writer, and state, belong to the writer goroutine. During a job
//	    with alone, the goroutine writes nothing: the job's caller writes on another
//	    connection.
//	S2. The functions of jobs may run several times: in a group, in the same group without
//	    jobs that were withdrawn, and alone if the group failed. They leave their results
//	    in variables of the caller, who reads them after done.
//	S3. When its context ends, a caller withdraws its job, at the latest after afterContext. The
//	    job then has no effect, unless the writer has sealed it: its COMMIT is under way, and
//	    the caller does not know the effect.

// lead is the time before its due time at which a worker may take an entry.
const lead = time.Second

// pollEvery is the interval of checks for writes of other processes.
const pollEvery = 250 * time.Millisecond

// maxGroup is the number of operations from which on a group takes no more jobs.
const maxGroup = 4096

// state is the row of hwt_store as of the last commit.
type state struct {
	generation, worker     int64
	pending, claimed, dead int64
	large                  int64 // payloads
	pauses                 int64
}

// writer writes, in one goroutine.
type writer struct {
	*conn                             // S1
	queue    *queue                   // of its jobs
	files    *storeFiles              // those it looks after
	announce func(rows []backend.Row) // passes near rows to workers
	written  chan struct{}            // closed by the goroutine
	state    state                    // S1
	stale    bool                     // state must be read anew. S1
	version  int64                    // of the file, as seeOthers saw it. S1
	unseen   bool                     // workers have not looked since another process wrote. S1
	looked   time.Time                // time of the last such request to the workers. S1
	held     lockTimes                // of other processes
}

// txn is a transaction of the writer, or an operation in a transaction of DB.
type txn struct {
	w    *writer
	c    *conn
	s    state  // written back before COMMIT
	room *int64 // bytes that further entries may take, or nil before the first one

	rejected map[int]error // changes that SQLite rejects, if the transaction sets them apart; see each
	undoing  map[int]error // those of them that roll the transaction back
}

// write is the writer goroutine.
func (w *writer) write() {
	defer close(w.written)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.queue.wake:
		case <-tick.C:
			w.checkNames()
			w.seeOthers(0)
		case <-w.queue.life.Done():
			return
		}
		for w.group() {
			runtime.Gosched() // the callers just answered call again, and share the next commit
		}
	}
}

// group runs the waiting jobs in one transaction, or a job that must be alone, and reports
// whether there were any. It takes them once the transaction has begun. Another process may
// delay the beginning: until then, callers can withdraw their jobs.
func (w *writer) group() bool {
	w.queue.mu.Lock()
	idle := len(w.queue.jobs) == 0
	w.queue.mu.Unlock()
	if idle {
		return false
	}
	if j := w.queue.takeAlone(); j != nil {
		j.err = w.runAlone(j)
		close(j.done)
		return true
	}
	var jobs []*job
	size := 0
	err := errWithdrawn
	for errors.Is(err, errWithdrawn) {
		jobs = slices.DeleteFunc(jobs, func(j *job) bool { return j.stage.Load() == withdrawn })
		err = w.transaction(func(t *txn) (err error) {
			for i := 0; err == nil; i++ {
				if i == len(jobs) {
					more, n := w.queue.take(maxGroup - size)
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
		jobs, _ = w.queue.take(maxGroup)
	}
	for _, j := range jobs {
		j.err = err
		if err != nil && len(jobs) > 1 && w.queue.failure() == nil {
			j.err = w.retry(j)
		}
		close(j.done)
	}
	return true
}

// troubleAfter is the length of a wait from which on it is trouble.
const troubleAfter = time.Second

// runAlone runs a job outside of a transaction, while the writer waits.
func (w *writer) runAlone(j *job) error {
	defer w.waitFor(errOpen)()
	return j.run(nil)
}

// waitFor notes why the writer waits, until end. A long wait is logged in another goroutine: a handler of the Logger may
// write to the store, and wait for the writer.
func (w *writer) waitFor(err error) (end func()) {
	w.queue.obstruct(err)
	long := time.AfterFunc(troubleAfter, func() {
		w.queue.trouble.Note(w.files.options.Logger, "durable: writes wait for the file", err.Error(), err, "file", w.files.path)
	})
	return func() {
		long.Stop()
		w.queue.obstruct(nil)
	}
}

// retry runs a job of a failed group alone: the other callers are not affected by one caller's error.
func (w *writer) retry(j *job) error {
	j.stage.CompareAndSwap(sealed, taken) // if COMMIT failed
	return w.transaction(func(t *txn) error {
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
func (w *writer) transaction(f func(*txn) error) error {
	if err := w.begin(); err != nil {
		return err
	}
	t := &txn{w: w, c: w.conn, s: w.state}
	err := f(t)
	if err == nil && t.s != w.state {
		err = t.store()
	}
	if err != nil {
		w.conn.rollback()
		w.fatal(err)
		return translate(context.Background(), err)
	}
	if err := w.conn.run("COMMIT"); err != nil {
		w.conn.rollback()
		w.stale = true
		w.fatal(err)
		if errors.Is(err, sqlite3.IOERR_SHMSIZE) {
			// The log has the commit, and its index does not: a recovery would find the commit
			// until the next commit takes its place.
			return fmt.Errorf("commit: the file system is full: %w", err)
		}
		return translate(context.Background(), fmt.Errorf("commit: %w", err))
	}
	w.state = t.s
	w.files.dirty.Store(true)
	return nil
}

// begin begins a transaction. It waits for other processes until the store is closed. They may
// hold the lock for as long as they like.
func (w *writer) begin() error {
	if now := time.Now(); now.Sub(w.files.checked) >= pollEvery {
		w.files.checked = now
		w.checkNames()
	}
	began := time.Now()
	for waits := false; ; {
		if err := w.queue.failure(); err != nil {
			return err
		}
		err := w.conn.run("BEGIN IMMEDIATE")
		if err == nil {
			w.held.add(began, time.Now())
			break
		}
		if !errors.Is(err, sqlite3.BUSY) {
			w.fatal(err)
			return translate(context.Background(), err)
		}
		if !waits {
			waits = true
			defer w.waitFor(errLocked)()
		}
		select {
		case <-w.queue.life.Done():
			return backend.ErrClosed
		case <-time.After(time.Millisecond):
		}
	}
	w.seeOthers(pollEvery)
	if !w.stale {
		return nil
	}
	err := w.load()
	if err != nil {
		w.conn.rollback()
	}
	return err
}

// load reads the state.
func (w *writer) load() error {
	s, err := w.conn.state()
	if err == nil {
		w.state = s
	}
	w.stale = err != nil
	return translate(context.Background(), err)
}

// state reads the row of hwt_store.
func (c *conn) state() (s state, err error) {
	err = c.query("SELECT generation, worker, pending, claimed, dead, large, pauses FROM hwt_store").each(func(q *query) error {
		r := q.s
		s = state{r.ColumnInt64(0), r.ColumnInt64(1), r.ColumnInt64(2), r.ColumnInt64(3), r.ColumnInt64(4), r.ColumnInt64(5), r.ColumnInt64(6)}
		return nil
	})
	return s, err
}

// store writes the state.
func (t *txn) store() error {
	_, err := t.c.query("UPDATE hwt_store SET generation = ?, worker = ?, pending = ?, claimed = ?, dead = ?, large = ?, pauses = ?").
		int(t.s.generation).int(t.s.worker).int(t.s.pending).int(t.s.claimed).int(t.s.dead).int(t.s.large).int(t.s.pauses).exec()
	return err
}

// seeOthers notes whether another process has written since the last call: state must be read
// anew. It makes workers look for the rows of that process, a pause after the last look or later,
// since a look reads all rows that are due soon.
func (w *writer) seeOthers(pause time.Duration) {
	version, err := w.conn.query("PRAGMA data_version").integer()
	if err == nil && version != w.version {
		w.version = version
		w.stale, w.unseen = true, true
		w.files.dirty.Store(true) // that process may have died before its sync
	}
	if w.unseen && time.Since(w.looked) >= pause {
		w.unseen, w.looked = false, time.Now()
		w.announce(nil)
	}
}

// fatal closes the store for errors after which the file's state is unknown.
func (w *writer) fatal(err error) {
	if errors.Is(err, sqlite3.IOERR) && !noRoom(err) || errors.Is(err, sqlite3.CORRUPT) {
		w.queue.fail(fmt.Errorf("%w after an error of the disk: %w", backend.ErrClosed, translate(context.Background(), err)))
	}
}

// checkNames closes the store if a file has lost its name: other processes would open another
// file, and the next Open would not find the commits.
func (w *writer) checkNames() {
	path, replaced := w.files.lostName()
	if path == "" {
		w.checkLog()
		return
	}
	what := "was deleted or moved"
	if replaced {
		what = "was replaced"
	}
	err := fmt.Errorf("%w: %q %s while it was open", backend.ErrClosed, path, what)
	if !replaced && path == w.files.path+"-wal" {
		err = errors.Join(err, w.saveLog())
	} else {
		w.files.displaced.Store(true)
	}
	if replaced && path == w.files.path {
		aside, failed := w.files.setAside()
		if aside != "" {
			err = fmt.Errorf("%w; the log of the old file is now %q", err, aside)
		}
		err = errors.Join(err, failed)
	}
	w.queue.fail(err)
}

// checkLog closes the store if another program has truncated or overwritten the log, as programs that
// rotate logs do. A checkpoint would copy the hole to the database. Between the two calls, another process may
// have emptied the log after a checkpoint: only a second look is sure.
func (w *writer) checkLog() {
	for range 2 {
		frames, _, err := w.WALCheckpoint("main", sqlite3.CHECKPOINT_NOOP)
		if err != nil || !w.files.isLogCut(frames) {
			return
		}
	}
	w.files.displaced.Store(true)
	w.queue.fail(fmt.Errorf("%w: %q was truncated or overwritten while it was open; the commits since the last checkpoint are lost",
		backend.ErrClosed, w.files.path+"-wal"))
}

// saveLog copies the commits of a log without a name to the database.
func (w *writer) saveLog() error {
	if err := w.BusyTimeout(busyFor); err != nil {
		return err
	}
	_, _, err := w.WALCheckpoint("main", sqlite3.CHECKPOINT_FULL)
	if err != nil {
		err = fmt.Errorf("its commits could not be saved to the database: %w", err)
	}
	return errors.Join(err, w.BusyTimeout(0))
}

// keepSynced syncs the write-ahead log at the interval of SyncEvery.
func (w *writer) keepSynced() {
	tick := time.NewTicker(w.files.options.SyncEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.queue.life.Done():
			return
		}
		if !w.files.dirty.Swap(false) {
			continue
		}
		if err := w.files.options.sync(w.files.log); err != nil {
			w.queue.fail(fmt.Errorf("%w after an error of the disk: %w", backend.ErrClosed, err))
			return
		}
	}
}
