package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// lease is a timer in the hands of this worker.
type lease struct {
	worker *worker
	v      version
	seq    uint64
	by     string    // the operation that claims it
	asked  time.Time // when it was first claimed; only the goroutine that goes on with the lease uses it

	// Guarded by worker.mu, for the renewal reads them.
	reply     string                  // where acknowledgements go
	since     moment                  // when it was asked for or renewed
	claimedAt time.Time               // or when the claim was last written again
	renewing  bool                    // a renewal is under way
	busy      bool                    // claimed, and queued or running
	done      bool                    // handled: only the acknowledgement is left
	lost      context.CancelCauseFunc // ends the handler, while it runs
	waiting   hwt.Timeout             // the timeout of the claim, until it expires
	fateSeq   uint64                  // of the claim
}

// take accepts a message that the server handed out. One of the reserved places
// becomes the lease's.
func (w *worker) take(shard int, msg jetstream.Msg, asked moment) {
	s := w.store
	s.counts.received.Add(1)
	l, delivered, err := w.lease(msg, asked)
	if err != nil {
		w.unreserve(1)
		w.log.Error("durable: a message is not a timer and was dropped", "shard", shard, "error", err)
		msg.Term()
		return
	}
	if delivered > 1 {
		s.counts.redelivered.Add(1)
	}
	if isCanary(l.v.token) {
		w.unreserve(1)
		w.canary(l, msg)
		return
	}
	if !w.hold(l) {
		return
	}
	wait := l.untilDue()
	if s.left(asked) < wait+fenceMargin {
		// This machine's clock is behind, or the server's is ahead. Another worker's
		// may not be: the timer is not put off for long, and this worker is for a
		// while, so that it does not get the timer again.
		w.behind.Store(true)
		w.handBack(l, min(wait-s.lead, handBackPause))
		return
	}
	l.await(wait - ClaimAhead)
}

// await claims l after d.
func (l *lease) await(d time.Duration) {
	w := l.worker
	if d <= 0 {
		l.claim()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	timeout, err := w.wheel.AfterFunc(d, l.claim)
	if err != nil { // the wheel was stopped: Work has ended
		delete(w.held, leaseKey{l.v.shard, l.seq})
		return
	}
	l.waiting = timeout
}

// handBackPause is the longest pause before a timer that is not due here for long
// is handed out again.
const handBackPause = time.Second

// behindPause is for how long a worker whose clock is behind asks for no timers.
const behindPause = 5 * time.Second

// lease reads a message.
func (w *worker) lease(msg jetstream.Msg, asked moment) (*lease, uint64, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return nil, 0, err
	}
	_, v, err := w.store.version(record{subject: msg.Subject(), header: msg.Headers(), data: msg.Data()})
	if err != nil {
		return nil, 0, err
	}
	if _, err := v.timer(); err != nil && !isCanary(v.token) {
		return nil, 0, err
	}
	l := &lease{worker: w, v: v, seq: meta.Sequence.Stream, by: w.store.operation(), reply: msg.Reply(), since: asked}
	return l, meta.NumDelivered, nil
}

// hold puts l into held, and reports whether it goes on from here. It does not if
// the worker drains, or has the message already: a lease that was thought lost
// goes on with the new message's.
func (w *worker) hold(l *lease) bool {
	w.mu.Lock()
	w.reserved--
	key := leaseKey{l.v.shard, l.seq}
	old := w.held[key]
	switch {
	case old != nil:
		old.reply, old.since = l.reply, l.since
		done := old.done
		w.room.Broadcast()
		w.mu.Unlock()
		if done {
			old.acknowledge()
		}
		return false
	case w.draining:
		w.room.Broadcast()
		w.mu.Unlock()
		w.store.say(l.reply, "-NAK")
		return false
	}
	w.held[key] = l
	w.mu.Unlock()
	return true
}

// release ends a lease.
func (w *worker) release(l *lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, leaseKey{l.v.shard, l.seq})
	w.room.Broadcast()
}

// handBack ends a lease and has the server hand the timer out again after d.
func (w *worker) handBack(l *lease, d time.Duration) {
	w.mu.Lock()
	reply := l.reply
	w.mu.Unlock()
	w.store.say(reply, fmt.Sprintf(`-NAK {"delay": %d}`, max(d, time.Millisecond)))
	w.release(l)
}

// drop ends a lease whose message the server will hand out again by itself.
func (w *worker) drop(l *lease) { w.release(l) }

// say sends a word about a message without waiting for an answer. If it is lost,
// the server hands the message out again when the lease has ended.
func (s *Store) say(reply, word string) {
	s.publish.post(&nats.Msg{Subject: reply, Data: []byte(word)})
}

// untilDue returns how long it is until l is due by this machine's clock.
func (l *lease) untilDue() time.Duration {
	return time.Duration(l.v.due - l.worker.store.now().UnixNano())
}

// schedule calls f after d, on the wheel's goroutine, or at once here if d has
// passed.
func (l *lease) schedule(d time.Duration, f func()) {
	if d <= 0 {
		f()
		return
	}
	if _, err := l.worker.wheel.AfterFunc(d, f); err != nil {
		l.worker.drop(l) // the wheel was stopped: Work has ended
	}
}

// fence reports whether the lease has ended, and if so releases it.
func (l *lease) fence() bool {
	w := l.worker
	w.mu.Lock()
	left := w.store.left(l.since)
	w.mu.Unlock()
	if left > 0 {
		return false
	}
	w.store.counts.fenced.Add(1)
	w.drop(l)
	return true
}

// ackRetry is the pause before an acknowledgement is sent again. It is much
// shorter than takeOverGrace: a server that was killed may have forgotten that it
// handed the message out, and hand it to another worker.
const ackRetry = 250 * time.Millisecond

// acknowledge has the server remove the message, and ends the lease when the
// server has confirmed that. It does not stop trying while the connection is
// open: a message that is not acknowledged is fired again.
func (l *lease) acknowledge() {
	w := l.worker
	w.mu.Lock()
	l.done = true
	reply := l.reply
	ended := w.held[leaseKey{l.v.shard, l.seq}] != l
	w.mu.Unlock()
	if ended {
		return
	}
	w.store.publish.send(&nats.Msg{Subject: reply, Data: []byte("+ACK")}, func(_ *nats.Msg, err error) {
		if err == nil || errors.Is(err, ErrClosed) {
			w.release(l)
		}
	})
	l.schedule(ackRetry, l.acknowledge)
}
