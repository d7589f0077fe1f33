package durable

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// renewals keeps the leases of claimed timers that wait for a handler, or whose
// handler runs.
func (w *worker) renewals(ctx context.Context) {
	period := w.store.leaseTime() / 16
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, l := range w.toRenew() {
			l.renew()
		}
	}
}

// toRenew returns the leases that are more than half expired. It ends the handlers
// of those that have expired. When the worker has drained for as long as a lease
// lasts, it also releases those that have expired: the server does not answer.
func (w *worker) toRenew() (out []*lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.room.Broadcast()
	abandon := w.draining && w.store.left(w.drainsAt) <= 0
	for key, l := range w.held {
		left := w.store.left(l.since)
		if abandon && left <= 0 && l.lost == nil {
			delete(w.held, key)
			continue
		}
		if !l.busy || l.done {
			continue
		}
		if left <= 0 && l.lost != nil {
			l.lost(ErrLeaseLost)
		}
		if left > 0 && left < w.store.leaseTime()/2 && !l.renewing {
			l.renewing = true
			out = append(out, l)
		}
	}
	return out
}

// renew asks the server for another term. The lease is extended when it confirms.
func (l *lease) renew() {
	w := l.worker
	w.mu.Lock()
	reply, rewrite := l.reply, time.Since(l.claimedAt) > ttlClaimed/2
	w.mu.Unlock()
	asked := stamp(w.store)
	if rewrite {
		l.renewClaim()
	}
	w.store.publish.send(&nats.Msg{Subject: reply, Data: []byte("+WPI")}, func(_ *nats.Msg, err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		l.renewing = false
		if err == nil && w.store.left(l.since) > 0 {
			l.since = asked
		}
	})
}

// renewClaim writes the claim again before it expires. It may fail: the claim is
// then written at the next renewal.
func (l *lease) renewClaim() {
	w := l.worker
	ttl := ttlClaimed
	if !l.v.every.isZero() {
		ttl = ttlEvery
	}
	w.mu.Lock()
	msg := l.claimMessage(ttl)
	condition{msg.Subject, l.fateSeq}.set(msg.Header)
	w.mu.Unlock()
	w.store.publish.send(msg, func(answer *nats.Msg, err error) {
		seq, err := stored(answer, err)
		if err != nil {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		l.fateSeq, l.claimedAt = seq, time.Now()
	})
}
