package durable

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
)

// Move changes when the key's pending timer fires. It keeps the payload. The
// timer's generation grows. If it returns nil, the timer does not fire at the old
// time. It returns ErrNotFound if no timer is pending, and ErrFired if a worker
// has claimed it, which happens ClaimAhead before it is due.
//
// Of a recurring timer it moves the next occurrence; the one after that is
// computed from the moved one.
func (s *Store) Move(ctx context.Context, key string, due time.Time) (Timer, error) {
	t, err := s.move(ctx, key, due, missing)
	if err != nil {
		return Timer{}, wrap("Move", key, err)
	}
	return t, nil
}

// MoveIf is Move on the condition that the pending timer has the generation. It
// returns ErrConflict if it has another.
func (s *Store) MoveIf(ctx context.Context, key string, generation uint64, due time.Time) (Timer, error) {
	t, err := s.move(ctx, key, due, replaceOnly(generation))
	if err != nil {
		return Timer{}, wrap("MoveIf", key, err)
	}
	return t, nil
}

func (s *Store) move(ctx context.Context, key string, due time.Time, may replacing) (Timer, error) {
	if err := checkKey(key); err != nil {
		return Timer{}, err
	}
	if err := checkDue(due, s.now()); err != nil {
		return Timer{}, err
	}
	shard, t := shardOf(key, s.shards), tokenOf(key)
	for {
		st, err := s.resolve(ctx, shard, t)
		if err != nil {
			return Timer{}, err
		}
		if err := may(st); err != nil {
			return Timer{}, err
		}
		v := st.v
		v.due = due.UnixNano()
		v.gen = generation(s.now(), st.v.gen)
		if st.v.attempt > 1 || st.v.first != 0 {
			v.first = st.v.origin()
		}
		err = s.replaceOnce(ctx, st, v)
		if errors.Is(err, errWrongSequence) {
			continue
		}
		if err != nil {
			return Timer{}, err
		}
		s.counts.moved.Add(1)
		return v.timer()
	}
}

// moveClose writes v in place of st, whose due message may exist or come at any
// moment: together with the fate of st, which is also what a worker claims it by
// (F5).
func (s *Store) moveClose(ctx context.Context, st state, v version) error {
	err := s.once(ctx, v, func() error {
		_, err := s.writeBoth(ctx, s.moveMessage(st), s.successor(st, v))
		return err
	})
	if err == nil && st.phase == leased {
		s.forget(st)
	}
	return err
}

// moveMessage returns the message that decides that st never fires, because
// another version has taken its place.
func (s *Store) moveMessage(st state) *nats.Msg {
	msg := s.fateMessage(st.v.id, fateMoved, s.operation(), ttlClose)
	s.firstFate(st.v.id).set(msg.Header)
	return msg
}

// decide writes a fate, and reports whether it is the first. A try whose answer
// was lost is recognized by its operation.
func (s *Store) decide(ctx context.Context, v id, by string, write func() error) (bool, error) {
	err := s.insist(ctx, write)
	if !errors.Is(err, errWrongSequence) {
		return err == nil, err
	}
	f, err := s.fate(ctx, v)
	if errors.Is(err, errNoMessage) {
		return false, nil // another's write is under way
	}
	return f.by == by, err
}
