package durable

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// headerSeq is the sequence of the due message that a claim is for. If the server
// made two due messages of a schedule, the other one is dropped.
const headerSeq = "Hwt-Seq"

// claimRetry is the pause before a claim is tried again.
const claimRetry = 20 * time.Millisecond

// claim writes the fate "claimed". It is called ClaimAhead before l is due.
func (l *lease) claim() {
	w := l.worker
	w.mu.Lock()
	l.waiting = nil
	w.mu.Unlock()
	if l.fence() {
		return
	}
	if w.isDraining() {
		w.handBack(l, 0)
		return
	}
	if wait := l.untilDue() - ClaimAhead; wait > 2*time.Millisecond { // the clock was set back
		l.await(wait)
		return
	}
	if l.asked.IsZero() {
		l.asked = time.Now()
	}
	if !l.v.every.isZero() {
		w.inBackground(l, l.claimOccurrence)
		return
	}
	w.store.publish.send(l.claimMessage(ttlClaimed), func(msg *nats.Msg, err error) {
		seq, err := stored(msg, err)
		l.claimAnswered(seq, err)
	})
}

// claimMessage returns the message that claims l, if its fate is open.
func (l *lease) claimMessage(ttl time.Duration) *nats.Msg {
	msg := l.worker.store.fateMessage(l.v.id, fateClaimed, l.by, ttl)
	msg.Header[headerSeq] = []string{strconv.FormatUint(l.seq, 10)}
	l.worker.store.firstFate(l.v.id).set(msg.Header)
	return msg
}

// claimAnswered goes on after the server's answer to a claim.
func (l *lease) claimAnswered(seq uint64, err error) {
	w := l.worker
	switch {
	case err == nil:
		l.won(seq)
	case errors.Is(err, errWrongSequence):
		w.inBackground(l, l.contested)
	case errors.Is(err, ErrClosed):
		w.drop(l)
	default:
		if !errors.Is(err, errUnavailable) {
			w.log.Warn("durable: claiming a timer", "key", l.v.token, "error", w.store.guard.noted(err))
		}
		l.schedule(claimRetry, l.claim)
	}
}

// won goes on after l was claimed.
func (l *lease) won(seq uint64) {
	w := l.worker
	w.store.counts.claims.note(time.Since(l.asked))
	w.mu.Lock()
	l.busy, l.claimedAt, l.fateSeq = true, time.Now(), seq
	w.mu.Unlock()
	l.schedule(l.untilDue(), l.expire)
}

// expire queues l for a handler once it is due.
func (l *lease) expire() {
	if wait := l.untilDue(); wait > 0 { // the clock was set back
		l.schedule(wait, l.expire)
		return
	}
	l.worker.queue.put(l)
}

// contested finds out who decided the fate of l. An error ends the lease; the
// server then hands the message out again.
func (l *lease) contested(ctx context.Context) error {
	s := l.worker.store
	f, err := s.fate(ctx, l.v.id)
	switch {
	case errors.Is(err, errNoMessage): // a write under way, or one that expired
		l.schedule(claimRetry, l.claim)
		return nil
	case err != nil:
		return err
	case f.is == fateClaimed && f.by == l.by: // an earlier try, whose answer was lost
		l.won(f.record.seq)
		return nil
	case f.is == fateClaimed && f.record.header.Get(headerSeq) == strconv.FormatUint(l.seq, 10):
		return l.takeOver(ctx, f)
	}
	s.counts.refused.Add(1)
	l.acknowledge()
	return nil
}

// takeOverGrace is how long a worker that got the message of a claimed timer waits
// for the acknowledgement of the one that claimed it. That may be alive, and done,
// while the leader that was to take its acknowledgement is not.
const takeOverGrace = 2 * time.Second

// takeOver goes on with a timer that another worker, or this one before, claimed
// and did not acknowledge.
func (l *lease) takeOver(ctx context.Context, f fate) error {
	s := l.worker.store
	if err := s.sleep(ctx, takeOverGrace); err != nil {
		return err
	}
	settled, err := l.settled(ctx)
	if err != nil {
		return err
	}
	if settled {
		l.acknowledge()
		return nil
	}
	ttl := ttlClaimed
	if !l.v.every.isZero() {
		ttl = ttlEvery
	}
	msg := l.claimMessage(ttl)
	condition{msg.Subject, f.record.seq}.set(msg.Header)
	seq, err := s.publish.write(ctx, msg)
	if errors.Is(err, errUnavailable) || errors.Is(err, errWrongSequence) {
		return l.contested(ctx)
	}
	if err != nil {
		return err
	}
	l.won(seq)
	return nil
}

// settled reports whether the outcome of l is stored: the message is gone, or a
// retry or a dead letter has taken its place.
func (l *lease) settled(ctx context.Context) (bool, error) {
	s := l.worker.store
	if _, err := s.read(ctx, l.v.shard, get{Seq: l.seq}); err != nil {
		return errors.Is(err, errNoMessage), ignore(err, errNoMessage)
	}
	if _, err := s.last(ctx, l.v.shard, s.names.of(kindDead, l.detached().id)); !errors.Is(err, errNoMessage) {
		return err == nil, err
	}
	r, err := s.last(ctx, l.v.shard, s.names.versions(l.v.shard, l.retryToken()))
	if err != nil {
		return false, ignore(err, errNoMessage)
	}
	_, v, err := s.version(r)
	return v.origin() == l.v.origin() && v.attempt > l.v.attempt, err
}

func ignore(err, what error) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}

// inBackground calls f on a goroutine of its own, with a context that ends with the
// store, or when Work has drained. If f fails, the lease is dropped.
func (w *worker) inBackground(l *lease, f func(context.Context) error) {
	w.background.Go(func() {
		if err := f(w.tasks); err != nil {
			if !errors.Is(err, ErrClosed) {
				w.log.Warn("durable: a timer is left to the next worker", "key", l.v.token, "error", err)
			}
			w.drop(l)
		}
	})
}

func (w *worker) isDraining() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.draining
}
