package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// lanes commit concurrent operations together. Each lane has one batch under way.
//
// A key is in one batch at most: later operations on it wait. If a batch waits too
// long for a row that another transaction has locked, its operations run singly, so
// that only those on that row wait.
type lanes struct {
	b     *Backend
	tasks sync.WaitGroup

	mu     sync.Mutex
	queue  []*item             // Guarded by mu.
	busy   map[string]struct{} // keys in a batch or run singly. Guarded by mu.
	free   int                 // idle lanes. Guarded by mu.
	closed bool                // Guarded by mu.

	// Slots of operations that run singly: the first try of each, and the tries of those that
	// have met a locked row, which must not delay the others.
	first, again chan struct{}
}

// job is one call of Apply.
type job struct {
	ctx     context.Context
	results []backend.Result
	left    int           // operations without a result. Guarded by lanes.mu.
	done    chan struct{} // closed when left is 0
}

// item is one operation of a job.
type item struct {
	op     backend.Op
	job    *job
	result *backend.Result
}

// answered counts a result. The caller holds lanes.mu.
func (it *item) answered() {
	if it.job.left--; it.job.left == 0 {
		close(it.job.done)
	}
}

const (
	laneCount  = 2
	firstCount = 2
	againCount = 4
	maxBatch   = 512
	batchWait  = 100 * time.Millisecond // for a locked row, in a batch
	firstWait  = time.Millisecond       // the same for the first try of an operation that runs singly
	againWait  = time.Second            // and for its later ones
)

func newLanes(b *Backend) *lanes {
	return &lanes{b: b, busy: make(map[string]struct{}), free: laneCount,
		first: make(chan struct{}, firstCount), again: make(chan struct{}, againCount)}
}

// apply queues ops and waits for their results, or until ctx ends.
func (l *lanes) apply(ctx context.Context, ops []backend.Op) ([]backend.Result, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	j := &job{ctx: ctx, results: make([]backend.Result, len(ops)), done: make(chan struct{})}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, backend.ErrClosed
	}
	for i := range ops {
		if err := l.b.full(&ops[i]); err != nil {
			j.results[i].Err = err
			continue
		}
		j.left++
		l.queue = append(l.queue, &item{ops[i], j, &j.results[i]})
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
		return nil, context.Cause(ctx)
	}
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

// take removes up to maxBatch operations whose keys are idle from the queue, and those whose
// callers no longer wait, which have no effect. The caller holds mu.
func (l *lanes) take() (batch []*item) {
	kept := l.queue[:0]
	var waiting map[string]struct{} // keys with an operation that stays
	for i, it := range l.queue {
		if it.job.ctx.Err() != nil {
			it.result.Err = context.Cause(it.job.ctx)
			it.answered()
			continue
		}
		key := it.op.Row.Key
		_, busy := l.busy[key]
		_, behind := waiting[key]
		if busy || behind || len(batch) == maxBatch {
			if len(batch) == maxBatch {
				kept = append(kept, l.queue[i:]...)
				break
			}
			kept = append(kept, it)
			if waiting == nil {
				waiting = make(map[string]struct{})
			}
			waiting[key] = struct{}{}
			continue
		}
		l.busy[key] = struct{}{}
		batch = append(batch, it)
	}
	clear(l.queue[len(kept):])
	l.queue = kept
	return batch
}

// finish answers items and frees their keys.
func (l *lanes) finish(items []*item) {
	announce := false
	for _, it := range items {
		announce = announce || it.op.Announce && it.result.Err == nil
	}
	if announce {
		l.b.announcer.announce()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, it := range items {
		delete(l.busy, it.op.Row.Key)
		it.answered()
	}
	l.dispatch()
}

func (l *lanes) fail(items []*item, err error) {
	for _, it := range items {
		it.result.Err = err
	}
	l.finish(items)
}

// run stores a batch. If it fails for the sake of one operation, each runs singly.
func (l *lanes) run(batch []*item) {
	err := l.try(l.b.ctx, batch, batchWait)
	var patience time.Duration
	for err != nil && passes(err) && !waited(err) && len(batch) > 0 {
		patience = l.b.pause(l.b.ctx, patience)
		batch = l.dropEnded(batch, err)
		if l.b.ctx.Err() != nil {
			err = backend.ErrClosed
			break
		}
		err = l.try(l.b.ctx, batch, batchWait)
	}
	switch {
	case err == nil:
		l.finish(batch)
	case len(batch) > 1 && err != errUnknown && err != backend.ErrClosed, waited(err):
		for _, it := range batch {
			l.tasks.Go(func() { l.runSingly(it) })
		}
	default:
		l.fail(batch, described(err))
	}
}

// dropEnded fails the items whose callers no longer wait, and returns the others.
func (l *lanes) dropEnded(batch []*item, err error) []*item {
	var ended, live []*item
	for _, it := range batch {
		if it.job.ctx.Err() != nil {
			ended = append(ended, it)
		} else {
			live = append(live, it)
		}
	}
	if len(ended) > 0 {
		l.fail(ended, err)
	}
	return live
}

// try stores a batch in one transaction and fills in its results.
func (l *lanes) try(ctx context.Context, batch []*item, wait time.Duration) error {
	if len(batch) == 0 {
		return nil
	}
	ops := make([]backend.Op, len(batch))
	for i, it := range batch {
		ops[i] = it.op
	}
	var results []backend.Result
	err := l.b.inTx(ctx, l.b.settings(wait, false), func(t *txn) (err error) {
		results, err = l.b.applyOps(ctx, t, t.write, ops)
		return err
	})
	if err != nil {
		return err
	}
	for i, it := range batch {
		*it.result = results[i]
	}
	return nil
}

// runSingly stores one operation, however long its row is locked, until its caller's
// context ends or the backend is closed.
func (l *lanes) runSingly(it *item) {
	slots, wait := l.first, firstWait
	err := l.b.insist(it.job.ctx, func(ctx context.Context) error {
		slot := slots
		select {
		case slot <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		defer func() { <-slot }()
		err := l.try(ctx, []*item{it}, wait)
		if waited(err) {
			slots, wait = l.again, againWait
		}
		return err
	})
	if err != nil {
		l.fail([]*item{it}, err)
		return
	}
	l.finish([]*item{it})
}

// close waits for the batches under way and fails the queue.
func (l *lanes) close() {
	l.mu.Lock()
	l.closed = true
	queue := l.queue
	l.queue = nil
	for _, it := range queue {
		it.result.Err = backend.ErrClosed
		it.answered()
	}
	l.mu.Unlock()
	l.tasks.Wait()
}
