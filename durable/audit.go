package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Canaries: each shard has a timer of its own that shows that the server still
// hands timers out, and how late. Any worker that gets it sets the next.
const (
	canaryToken  token = "~canary"
	canaryPeriod       = 15 * time.Second
)

func isCanary(t token) bool { return t == canaryToken }

// auditToken is under what the worker that audits a shard excludes the others.
const auditToken token = "~audit"

// How often a worker looks whether an audit is needed, how often there is one
// without need, for how long an audit keeps others from the shard, and how overdue
// a schedule must be.
const (
	auditCheck  = 2 * time.Second
	auditPeriod = 10 * time.Minute
	auditPause  = 10 * time.Second
	overdue     = 5 * time.Second
)

// canary notes that a shard's canary came through, and sets the next.
func (w *worker) canary(l *lease, msg jetstream.Msg) {
	s := w.store
	meta, err := msg.Metadata()
	if err != nil {
		return
	}
	lag := meta.Timestamp.Sub(time.Unix(0, s.wake(l.v.due)))
	s.sizes.shard(l.v.shard, func(st *ShardStats) { st.Lag, st.Canary = lag, s.now() })
	s.setCanary(l.v.shard, l.v.gen, l.seq)
	s.say(msg.Reply(), "+ACK")
}

// setCanary sets the next canary of a shard, if the last one has the sequence. It
// does not wait: if it fails, the next audit sets it.
func (s *Store) setCanary(shard int, previous, last uint64) {
	v := version{id: id{shard, canaryToken, generation(s.now(), previous)}, attempt: 1}
	v.due = s.serverNow().Add(s.lead + canaryPeriod).UnixNano()
	msg := s.pendingMessage(v, condition{s.names.versions(shard, canaryToken), last}, s.serverNow())
	s.publish.send(msg, func(*nats.Msg, error) {})
}

// audits looks for overdue schedules: when the worker starts, after the server had
// no space, and now and then. A schedule that the server failed to publish is not
// tried again by itself.
func (w *worker) audits(ctx context.Context) {
	s := w.store
	last := time.Time{}
	for {
		needed := s.guard.audit.Swap(false)
		if needed || time.Since(last) > auditPeriod {
			last = time.Now()
			for shard := range s.shards {
				again, err := s.auditShard(ctx, shard)
				if err != nil && ctx.Err() == nil {
					w.log.Warn("durable: audit of overdue timers", "shard", shard, "error", err)
				}
				if err != nil || again && needed {
					s.guard.audit.Store(true)
				}
			}
		}
		if s.sleep(ctx, auditCheck) != nil {
			return
		}
	}
}

// auditShard sets free what is overdue in a shard, unless another worker is about
// to. It reports whether another audit should follow.
func (s *Store) auditShard(ctx context.Context, shard int) (again bool, err error) {
	s.setCanary(shard, 0, 0)
	mark := id{shard, auditToken, 0}
	msg := s.fateMessage(mark, fateClaimed, s.operation(), auditPause)
	s.firstFate(mark).set(msg.Header)
	if _, err := s.publish.write(ctx, msg); err != nil {
		if errors.Is(err, errWrongSequence) {
			return true, nil
		}
		return true, err
	}
	_, late, err := s.audit(ctx, shard)
	if late {
		s.guard.audit.Store(true)
	}
	return late, err
}

// Audit looks through the schedules of one shard, and hands those to the workers
// that the server should have handed to them more than five seconds ago. It
// returns how many that were. Workers call it by themselves. It reads every
// pending timer of the shard.
func (s *Store) Audit(ctx context.Context, shard int) (int, error) {
	if shard < 0 || shard >= s.shards {
		return 0, fmt.Errorf("durable: Audit: %w: shard %d (expected: 0 to %d)", ErrInvalid, shard, s.shards-1)
	}
	n, _, err := s.audit(ctx, shard)
	if err != nil {
		return n, fmt.Errorf("durable: Audit: shard %d: %w", shard, err)
	}
	return n, nil
}

// audit also reports whether there are timers that are late, but not overdue.
func (s *Store) audit(ctx context.Context, shard int) (n int, late bool, err error) {
	for r, err := range s.scan(ctx, shard, s.names.all(shard, kindAt)) {
		if err != nil {
			return n, late, err
		}
		_, v, err := s.version(r)
		if err != nil {
			continue // not a timer; nothing depends on it
		}
		by := s.serverNow().UnixNano() - s.wake(v.due)
		if by < int64(overdue) {
			late = late || by > int64(time.Second)
			continue
		}
		freed, err := s.free(ctx, r, v)
		if err != nil {
			return n, late, err
		}
		if freed {
			n++
		}
	}
	return n, late, nil
}

// free writes the due message of an overdue schedule in its place. If the server
// makes one as well, one of them is dropped.
func (s *Store) free(ctx context.Context, r record, v version) (bool, error) {
	now, err := s.last(ctx, v.shard, s.names.versions(v.shard, v.token))
	if err != nil {
		return false, ignore(err, errNoMessage)
	}
	if now.seq != r.seq {
		return false, nil // handed out, or changed, since it was read
	}
	if err := s.succeed(ctx, state{pending, r.seq, r.seq, v}, v); err != nil {
		return false, s.guard.noted(ignore(err, errWrongSequence))
	}
	s.counts.repaired.Add(1)
	return true, nil
}
