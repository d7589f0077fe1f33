package postgres

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// lanes commit concurrent operations together. Each lane has one batch under way.
//
// A key is in one batch at most: later operations on it wait. If a batch waits too long for
// a row that another transaction has locked, the operations run singly, in two kinds of
// slots:
//
//   - A brief slot is for one try that waits a millisecond for a lock.
//   - A patient slot is for an operation on a locked row. It waits in line at the row, a second
//     per try, while other operations wait there.
//
// An operation on a locked row waits for a patient slot. One statement per watchEvery finds the
// operations with unlocked rows, and sends them to the brief slots. An operation on an unlocked
// row waits for brief tries, and after a failed try for a pause of up to half a second, however
// many rows are locked. Rows that open transactions have inserted are invisible to the
// statement: operations on these keys count as unlocked, and take part in the brief tries.
type lanes struct {
	*session
	announcer *announcer
	sizes     *sizes

	mu    sync.Mutex
	queue []*item             // Guarded by mu.
	busy  map[string]struct{} // keys in a batch or run singly. Guarded by mu.
	free  int                 // idle lanes. Guarded by mu.

	brief, patient chan struct{} // slots of operations that run singly

	waiting  map[*item]chan struct{} // for a patient slot; closed when its rows are unlocked. Guarded by mu.
	watching bool                    // watchRows runs. Guarded by mu.
}

// job is one call of Apply.
type job struct {
	ctx     context.Context
	results []backend.Result
	left    int                   // operations without a result. Guarded by lanes.mu.
	done    chan struct{}         // closed when left is 0
	trouble atomic.Pointer[error] // of the last try. Atomic: written by the lanes, read by the caller.
}

// item is one operation of a job.
type item struct {
	op     backend.Op
	job    *job
	result *backend.Result
	locked bool // at the last look at the rows. Only the item's goroutine.
}

const (
	laneCount    = 2
	briefCount   = 2
	patientCount = 2
	briefWait    = time.Millisecond // for a locked row, in a brief slot
	patientWait  = time.Second / 2  // and in a patient slot: a deadlock ends before PostgreSQL's own second
	watchEvery   = 20 * time.Millisecond
)

func newLanes(s *session, a *announcer, z *sizes) *lanes {
	return &lanes{session: s, announcer: a, sizes: z, busy: make(map[string]struct{}), free: laneCount, waiting: make(map[*item]chan struct{}),
		brief: make(chan struct{}, briefCount), patient: make(chan struct{}, patientCount)}
}

// Apply implements [backend.Backend]. Apply queues ops and waits for the results, or until ctx
// ends.
func (l *lanes) Apply(ctx context.Context, ops []backend.Op) ([]backend.Result, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	j := &job{ctx: ctx, results: make([]backend.Result, len(ops)), done: make(chan struct{})}
	l.mu.Lock()
	if l.ctx.Err() != nil {
		l.mu.Unlock()
		return nil, backend.ErrClosed
	}
	if len(l.queue)+len(ops) > cap(l.queue) { // it must not grow for calls that have ended
		l.queue = slices.DeleteFunc(l.queue, func(it *item) bool { return it.job.ctx.Err() != nil })
	}
	for i := range ops {
		if err := l.sizes.full(&ops[i]); err != nil {
			j.results[i].Err = err
			continue
		}
		j.left++
		l.queue = append(l.queue, &item{op: ops[i], job: j, result: &j.results[i]})
	}
	if j.left == 0 {
		close(j.done)
	}
	l.dispatch()
	l.mu.Unlock()
	select {
	case <-j.done:
		return j.results, nil
	case <-ctx.Done():
		return nil, ended(ctx, cmp.Or(j.last(), l.trouble.err(), exhausted(l.pool)))
	}
}

// last returns the error of the last try of one of the operations, or nil.
func (j *job) last() error {
	if err := j.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// dispatch starts batches while lanes are idle. The caller holds mu.
func (l *lanes) dispatch() {
	for l.free > 0 {
		batch := l.take()
		if len(batch) == 0 {
			return
		}
		l.free--
		l.tasks.Go(func() {
			l.run(batch)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.free++
			l.dispatch()
		})
	}
}

// take removes up to maxBatch operations with idle keys from the queue. Payloads end a batch at
// maxBytes, so that the server stores it within Options.Timeout. The caller holds mu.
func (l *lanes) take() (batch []*item) {
	kept := l.queue[:0]
	bytes := 0
	for i, it := range l.queue {
		if len(batch) == maxBatch || bytes >= maxBytes {
			kept = append(kept, l.queue[i:]...)
			break
		}
		if _, busy := l.busy[it.op.Row.Key]; busy {
			kept = append(kept, it)
			continue
		}
		l.busy[it.op.Row.Key] = struct{}{}
		batch = append(batch, it)
		bytes += len(it.op.Row.Payload)
	}
	clear(l.queue[len(kept):])
	l.queue = kept
	return batch
}

// finish answers items, with a non-nil err, and frees the keys.
func (l *lanes) finish(items []*item, err error) {
	announce := false
	for _, it := range items {
		if err != nil {
			it.result.Err = err
		}
		announce = announce || it.op.Announce && it.result.Err == nil
	}
	if announce {
		l.announcer.Announce()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, it := range items {
		delete(l.busy, it.op.Row.Key)
		if it.job.left--; it.job.left == 0 {
			close(it.job.done)
		}
	}
	l.dispatch()
}

// run stores a batch. If it fails for the sake of one operation, each runs singly.
func (l *lanes) run(batch []*item) {
	conflict := false
	err := l.insist(l.ctx, func(ctx context.Context) error {
		err := divisible(len(batch), l.try(ctx, batch, batchWait))
		if conflict = waited(err); conflict {
			return nil
		}
		return err
	})
	if errors.Is(err, errSlow) { // it replaces large payloads, or the line is slow
		half := len(batch) / 2
		l.run(batch[:half])
		l.run(batch[half:])
		return
	}
	if !conflict && (err == nil || len(batch) == 1 || err == errUnknown || err == backend.ErrClosed) {
		l.finish(batch, err)
		return
	}
	locked, _ := l.lockedKeys(batch) // after an error, the brief tries find them
	for _, it := range batch {
		it.locked = locked[it.op.Row.Key]
		l.tasks.Go(func() { l.runSingly(it) })
	}
}

// try stores a batch in one transaction and fills in the results. Operations have no effect if
// no caller waits once the transaction begins. If a caller gives up before the COMMIT, try
// fails, and the next try leaves out the caller's operations.
func (l *lanes) try(ctx context.Context, batch []*item, wait time.Duration) error {
	var live []*item
	var results []backend.Result
	err := l.inTx(ctx, l.settings(wait, false), func(t *txn) (err error) {
		var ops []backend.Op
		for _, it := range batch {
			if it.job.ctx.Err() != nil {
				it.result.Err = context.Cause(it.job.ctx)
				continue
			}
			live = append(live, it)
			ops = append(ops, it.op)
		}
		if len(ops) > 0 {
			results, err = applyOps(ctx, t, ops)
		}
		if err == nil && slices.ContainsFunc(live, func(it *item) bool { return it.job.ctx.Err() != nil }) {
			err = errAbandoned // T5
		}
		return err
	})
	if err != nil {
		for _, it := range live {
			it.job.trouble.Store(&err)
		}
		return err
	}
	for i, it := range live {
		*it.result = results[i]
	}
	return nil
}

// runSingly stores one operation, however long the row is locked, until the caller's
// context ends or the backend is closed.
func (l *lanes) runSingly(it *item) {
	err := l.insist(it.job.ctx, func(ctx context.Context) error {
		slot, wait, err := l.slot(ctx, it)
		if err != nil {
			return err
		}
		defer func() { <-slot }()
		err = l.try(ctx, []*item{it}, wait)
		it.locked = waited(err)
		return err
	})
	l.finish([]*item{it}, err)
}

// slot takes a slot for the next try of an operation. It returns the slot and the time that the
// try may wait for a lock.
func (l *lanes) slot(ctx context.Context, it *item) (slot chan struct{}, wait time.Duration, err error) {
	if it.locked {
		unlocked := l.watch(it)
		defer l.unwatch(it)
		select {
		case l.patient <- struct{}{}:
			return l.patient, patientWait, nil
		case <-unlocked:
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
	select {
	case l.brief <- struct{}{}:
		return l.brief, briefWait, nil
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
}

// watch returns a channel that is closed when the rows of an operation are seen unlocked.
func (l *lanes) watch(it *item) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	unlocked := make(chan struct{})
	l.waiting[it] = unlocked
	if !l.watching {
		l.watching = true
		l.tasks.Go(l.watchRows)
	}
	return unlocked
}

func (l *lanes) unwatch(it *item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, it)
}

// watchRows looks for unlocked rows while operations wait for a patient slot.
func (l *lanes) watchRows() {
	for {
		l.sleep(l.ctx, watchEvery)
		l.mu.Lock()
		items := slices.Collect(maps.Keys(l.waiting))
		l.watching = len(items) > 0 && l.ctx.Err() == nil
		done := !l.watching
		l.mu.Unlock()
		if done {
			return
		}
		locked, err := l.lockedKeys(items)
		l.mu.Lock()
		for _, it := range items {
			if unlocked := l.waiting[it]; err == nil && unlocked != nil && !locked[it.op.Row.Key] {
				close(unlocked)
				delete(l.waiting, it)
			}
		}
		l.mu.Unlock()
	}
}

// lockedKeys returns the keys of items of which another transaction has locked a row.
func (l *lanes) lockedKeys(items []*item) (map[string]bool, error) {
	var keys [][]byte
	var found []octets
	for _, it := range items {
		keys = append(keys, []byte(it.op.Row.Key))
	}
	err := l.inTx(l.ctx, l.settings(batchWait, true), func(t *txn) error {
		return t.run(l.ctx, query(each(&found), lockedKeysSQL, keys))
	})
	locked := make(map[string]bool)
	for _, key := range found {
		locked[string(key)] = true
	}
	return locked, err
}

// close ends the session's context, by which all operations fail.
func (l *lanes) close() {
	l.mu.Lock() // Apply begins no operation afterwards
	defer l.mu.Unlock()
	l.end()
}

// change runs statements in a transaction of their own that waits for locks. If removed is not nil, they append the
// rows to it that they remove; change returns ErrNotFound if they remove no row.
func (s *session) change(ctx context.Context, removed *[]int64, stmts ...stmt) error {
	err := s.insist(ctx, func(ctx context.Context) error {
		return s.inTx(ctx, s.settings(patientWait, false), func(t *txn) error {
			if removed != nil {
				*removed = nil // of a try that failed
			}
			return t.write(ctx, stmts...)
		})
	})
	if err == nil && removed != nil && len(*removed) == 0 {
		err = backend.ErrNotFound
	}
	return err
}
