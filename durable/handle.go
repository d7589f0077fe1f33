package durable

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/internal/usercode"
)

// handle calls handlers until the queue is closed.
func (w *worker) handle(all *sync.WaitGroup) {
	ended := true // unless the loop returns, by runtime.Goexit
	defer func() {
		if ended {
			go w.handle(all)
			return
		}
		all.Done()
	}()
	for {
		l := w.queue.get()
		if l == nil {
			ended = false
			return
		}
		w.fire(l)
	}
}

// fire calls the handler for l and stores the outcome.
func (w *worker) fire(l *lease) {
	if l.fence() {
		return
	}
	t, err := l.v.timer()
	if err != nil { // excluded by take
		w.drop(l)
		return
	}
	t.Payload = bytes.Clone(t.Payload) // the handler may change it, and a retry stores what was set
	ctx, cancel := context.WithCancelCause(w.calls)
	w.mu.Lock()
	l.lost = cancel
	w.mu.Unlock()
	f := Firing{Timer: t, ID: l.v.firingID(), Lateness: -l.untilDue()}
	w.store.counts.fired.Add(1)
	w.store.counts.lateness.note(f.Lateness)
	defer func() { // also if the handler ends its goroutine
		w.mu.Lock()
		l.lost = nil
		w.mu.Unlock()
		cancel(nil)
		w.finish(l, err)
	}()
	usercode.Run(
		func() { err = w.handler(ctx, f) },
		func(broken error) { err = broken })
}

// finish stores the outcome of an attempt, and then acknowledges the message.
func (w *worker) finish(l *lease, err error) {
	if err == nil {
		w.store.counts.succeeded.Add(1)
		l.acknowledge()
		return
	}
	w.inBackground(l, func(ctx context.Context) error { return l.failed(ctx, err) })
}

// failed stores the retry or the dead letter.
func (l *lease) failed(ctx context.Context, cause error) error {
	w := l.worker
	wait, again := w.options.backoff(l.v.attempt, cause)
	if again {
		if err := l.retry(ctx, wait); err != nil {
			return err
		}
		w.store.counts.retried.Add(1)
	} else {
		if err := w.store.bury(ctx, l.detached(), cause); err != nil {
			return err
		}
		w.store.counts.givenUp.Add(1)
		w.log.Warn("durable: a timer was given up", "id", l.v.firingID(), "attempts", l.v.attempt, "error", cause)
	}
	l.acknowledge()
	return nil
}

// retryToken returns what the retries of l are stored under: the key, or for an
// occurrence of a recurring timer, whose key has the next one, a name of its own.
func (l *lease) retryToken() token {
	if l.v.every.isZero() {
		return l.v.token
	}
	return occurrenceToken(l.v)
}

// detached returns l without what belongs to a series: an attempt that failed, as
// its retry and its dead letter are stored.
func (l *lease) detached() version {
	v := l.v
	v.token, v.every = l.retryToken(), Every{}
	return v
}

// retry stores the next attempt as the successor of l. If the key was set anew
// meanwhile, there is none: the new timer takes its place.
func (l *lease) retry(ctx context.Context, wait time.Duration) error {
	s := l.worker.store
	next := l.detached()
	next.first = l.v.origin()
	next.attempt++
	next.due = dueAfter(s.now(), wait)
	next.gen = generation(s.now(), l.v.gen)
	st := state{fired, l.seq, l.seq, l.v}
	if next.token != l.v.token {
		st = state{}
	}
	for {
		err := s.once(ctx, next, func() error { return s.succeed(ctx, st, next) })
		if !errors.Is(err, errWrongSequence) {
			return err
		}
		now, err := s.resolve(ctx, next.shard, next.token)
		if err != nil {
			return err
		}
		if now.phase != fired || now.v.gen != l.v.gen || now.last == st.last {
			return nil // set anew, or settled by another worker
		}
		st = now
	}
}
