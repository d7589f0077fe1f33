package durable

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/internal/usercode"
	"github.com/nats-io/nats.go"
)

// occurrenceToken returns what the retries of an occurrence are stored under.
func occurrenceToken(v version) token {
	return token(string(v.token) + "~" + strconv.FormatUint(v.origin(), 10))
}

// base returns the token without the name of an occurrence.
func (t token) base() token {
	text, _, _ := strings.Cut(string(t), "~")
	return token(text)
}

// claimOccurrence claims an occurrence of a recurring timer and sets the next one,
// in one atomic write. So exactly one is pending at any time, and no crash can
// set it twice or not at all.
func (l *lease) claimOccurrence(ctx context.Context) error {
	w := l.worker
	s := w.store
	schedule, err := l.v.every.schedule(w.options.Schedules)
	if err != nil {
		w.log.Warn("durable: a recurring timer is left to other workers", "key", l.v.token, "error", err)
		w.handBack(l, time.Second)
		return nil
	}
	next, fires, err := l.successor(schedule)
	if err != nil {
		return s.buryBroken(ctx, l, err)
	}
	last := l.seq
	for {
		seq, err := l.claimAndSet(ctx, next, fires, last)
		switch {
		case err == nil && !fires:
			s.counts.missed.Add(1)
			l.acknowledge()
			return nil
		case err == nil:
			l.won(seq)
			return nil
		case errors.Is(err, errWrongSequence), errors.Is(err, errUnavailable):
		default:
			return err
		}
		if l.fence() {
			return nil
		}
		st, err := s.resolve(ctx, l.v.shard, l.v.token)
		if err != nil {
			return err
		}
		if st.phase != leased || st.v.gen != l.v.gen {
			return l.contestedOccurrence(ctx, fires)
		}
		last = st.last
	}
}

// contestedOccurrence is contested for an occurrence: a claim of our own whose
// answer was lost may be of one that does not fire.
func (l *lease) contestedOccurrence(ctx context.Context, fires bool) error {
	f, err := l.worker.store.fate(ctx, l.v.id)
	if err == nil && f.is == fateMoved && f.by == l.by && !fires {
		l.worker.store.counts.missed.Add(1)
		l.acknowledge()
		return nil
	}
	if errors.Is(err, errNoMessage) {
		// The key's timer is another, and this one was never decided: a message that
		// came late (F4).
		l.acknowledge()
		return nil
	}
	return l.contested(ctx)
}

// successor returns the next occurrence, and whether this one fires. A schedule of
// the user's may panic or end its goroutine, which is therefore its own.
func (l *lease) successor(schedule interface{ Next(time.Time) time.Time }) (next time.Time, fires bool, err error) {
	due := time.Unix(0, l.v.due).UTC()
	var call sync.WaitGroup
	call.Go(func() {
		usercode.Run(
			func() { next, fires, err = l.v.every.successor(schedule, due, l.worker.store.now()) },
			func(broken error) { err = broken })
	})
	call.Wait()
	if err != nil {
		err = fmt.Errorf("schedule %q: %w", l.v.every.header(), err)
	}
	return next, fires, err
}

// claimAndSet writes the claim and the next occurrence, and returns the sequence
// of the claim. The fate of an occurrence that does not fire is that it was moved:
// another worker that gets its message does not take over the claim and fire it.
func (l *lease) claimAndSet(ctx context.Context, next time.Time, fires bool, last uint64) (uint64, error) {
	s := l.worker.store
	claim := l.claimMessage(ttlEvery)
	if !fires {
		claim.Header[headerFate] = []string{fateMoved}
	}
	if next.IsZero() || next.After(maxDue) {
		return s.publish.write(ctx, claim)
	}
	v := l.v
	v.gen = generation(s.now(), l.v.gen)
	v.due = next.UnixNano()
	v.attempt, v.first = 1, 0
	set := s.pendingMessage(v, condition{s.names.versions(v.shard, v.token), last}, s.serverNow())
	seq, err := s.writeBoth(ctx, claim, set)
	return max(seq, 1) - 1, err
}

// writeBoth stores two messages in one atomic batch and returns the sequence of
// the second.
func (s *Store) writeBoth(ctx context.Context, first, second *nats.Msg) (uint64, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	batch := s.operation()
	for i, msg := range []*nats.Msg{first, second} {
		msg.Header[headerBatchID] = []string{batch}
		msg.Header[headerBatchSeq] = []string{strconv.Itoa(i + 1)}
	}
	second.Header[headerBatchCommit] = []string{"1"}
	type result struct {
		seq uint64
		err error
	}
	got := make(chan result, 1)
	s.publish.send(second, func(msg *nats.Msg, err error) {
		seq, err := stored(msg, err)
		got <- result{seq, err}
	}, first) // directly behind it: the server bounds the batches that are open at a time
	select {
	case r := <-got:
		return r.seq, r.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// buryBroken claims an occurrence whose schedule is broken and makes a dead letter of
// it, in one atomic write: if this worker dies, no other takes over the claim and fires
// an occurrence that has no successor.
func (s *Store) buryBroken(ctx context.Context, l *lease, cause error) error {
	_, err := s.writeBoth(ctx, l.claimMessage(ttlEvery), s.deadMessage(l.v, cause))
	if errors.Is(err, errWrongSequence) {
		return l.contested(ctx)
	}
	if err != nil {
		return err
	}
	s.log.Error("durable: a recurring timer was given up", "key", l.v.token, "error", cause)
	s.counts.givenUp.Add(1)
	l.acknowledge()
	return nil
}
