package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// Set stores a timer that fires at due. If the key has a pending timer, it is
// replaced; a firing of it that a worker has claimed goes on. So a key has one
// pending timer at most. A due time that has passed by up to a minute is due at
// once.
//
// It returns when the timer is stored, on a majority of the servers if the store
// has replicas. A new key costs one write, and a pending one two requests more.
func (s *Store) Set(ctx context.Context, key string, due time.Time, payload []byte) (Timer, error) {
	t, err := s.put(ctx, request{key: key, due: due, payload: payload}, replaceAny)
	if err != nil {
		return Timer{}, wrap("Set", key, err)
	}
	return t, nil
}

// Create is Set for a key that has no pending timer. It returns ErrExists if it
// has one.
func (s *Store) Create(ctx context.Context, key string, due time.Time, payload []byte) (Timer, error) {
	t, err := s.put(ctx, request{key: key, due: due, payload: payload}, replaceNone)
	if err != nil {
		return Timer{}, wrap("Create", key, err)
	}
	return t, nil
}

// SetIf is Set on the condition that the key's pending timer has the generation.
// It returns ErrConflict if it has another, and ErrNotFound or ErrFired as Move.
func (s *Store) SetIf(ctx context.Context, key string, generation uint64, due time.Time, payload []byte) (Timer, error) {
	t, err := s.put(ctx, request{key: key, due: due, payload: payload}, replaceOnly(generation))
	if err != nil {
		return Timer{}, wrap("SetIf", key, err)
	}
	return t, nil
}

// SetEvery stores a recurring timer whose next occurrence is the first after now.
// It replaces the key's pending timer. Each occurrence sets the next one when it
// is claimed, in one atomic write, so that exactly one is pending at any time, and
// Cancel ends the series.
//
// If every names a schedule that workers resolve, first is the first occurrence.
// Otherwise it may be zero, and the schedule's first time after now is taken.
func (s *Store) SetEvery(ctx context.Context, key string, every Every, first time.Time, payload []byte) (Timer, error) {
	if err := every.check(); err != nil {
		return Timer{}, wrap("SetEvery", key, err)
	}
	if first.IsZero() {
		schedule, err := every.schedule(nil)
		if err != nil {
			return Timer{}, wrap("SetEvery", key, fmt.Errorf("%w: first is zero (expected: the first occurrence of schedule %q)", ErrInvalid, every.Schedule))
		}
		if first = schedule.Next(s.now()); first.IsZero() {
			return Timer{}, wrap("SetEvery", key, fmt.Errorf("%w: Every.Spec: %q has no occurrence after now", ErrInvalid, every.Spec))
		}
	}
	t, err := s.put(ctx, request{key: key, due: first, payload: payload, every: every}, replaceAny)
	if err != nil {
		return Timer{}, wrap("SetEvery", key, err)
	}
	return t, nil
}

// request is a timer as asked for.
type request struct {
	key     string
	due     time.Time
	payload []byte
	every   Every
}

// replacing is which pending timer a write may replace. It returns the error for
// a state that it may not replace, or nil.
type replacing func(st state) error

func replaceAny(state) error { return nil }

func replaceNone(st state) error {
	if st.phase == pending || st.phase == leased {
		return ErrExists
	}
	return nil
}

func replaceOnly(generation uint64) replacing {
	return func(st state) error {
		if err := missing(st); err != nil {
			return err
		}
		if st.v.gen != generation {
			return ErrConflict
		}
		return nil
	}
}

// missing returns the error for a key that has no pending timer.
func missing(st state) error {
	switch st.phase {
	case absent:
		return ErrNotFound
	case fired:
		return ErrFired
	}
	return nil
}

// check returns the error for a request that is out of range.
func (s *Store) check(r request) error {
	if err := checkKey(r.key); err != nil {
		return err
	}
	if err := checkDue(r.due, s.now()); err != nil {
		return err
	}
	if most := s.maxPayload(); len(r.payload) > most {
		return fmt.Errorf("%w: payload of %d bytes (expected: up to %d)", ErrInvalid, len(r.payload), most)
	}
	return s.guard.admit()
}

// headerRoom is left for headers in the server's largest message.
const headerRoom = 8 << 10

// maxPayload returns the largest payload that the server takes, as last asked: the
// connection's own method waits while the connection sends.
func (s *Store) maxPayload() int { return int(s.largest.Load()) - headerRoom }

// put stores a timer in place of what may be replaced.
func (s *Store) put(ctx context.Context, r request, may replacing) (Timer, error) {
	if err := s.check(r); err != nil {
		return Timer{}, err
	}
	shard, t := shardOf(r.key, s.shards), tokenOf(r.key)
	v := version{
		id:      id{shard, t, generation(s.now(), 0)},
		due:     r.due.UnixNano(),
		payload: bytes.Clone(r.payload), // what is queued outlives a call that ctx ended
		attempt: 1,
		every:   r.every,
	}
	var st state // Most keys are new: no read before the first try.
	if may(st) != nil {
		var err error
		if st, err = s.resolve(ctx, shard, t); err != nil {
			return Timer{}, err
		}
	}
	err := s.replace(ctx, st, &v, may)
	if err != nil {
		return Timer{}, s.guard.noted(err)
	}
	s.counts.set.Add(1)
	return v.timer()
}

// replace writes v in place of st, or of what it finds instead. It gives v a
// generation larger than what it replaces.
func (s *Store) replace(ctx context.Context, st state, v *version, may replacing) error {
	for {
		if err := may(st); err != nil {
			return err
		}
		if v.gen <= st.v.gen {
			v.gen = generation(s.now(), st.v.gen)
		}
		err := s.replaceOnce(ctx, st, *v)
		if !errors.Is(err, errWrongSequence) {
			return err
		}
		if st, err = s.resolve(ctx, v.shard, v.token); err != nil {
			return err
		}
	}
}

// replaceOnce writes v if st is still true.
func (s *Store) replaceOnce(ctx context.Context, st state, v version) error {
	if (st.phase == pending || st.phase == leased) && s.isClose(st) {
		return s.moveClose(ctx, st, v)
	}
	if err := s.succeedEarly(ctx, st, v); err != nil {
		return err
	}
	if st.phase == pending && s.isClose(st) {
		return s.confirm(ctx, st, v) // the answer took that long
	}
	return nil
}

// succeedEarly writes v in place of a schedule long before its time, or of
// nothing that can still fire.
func (s *Store) succeedEarly(ctx context.Context, st state, v version) error {
	return s.once(ctx, v, func() error {
		if st.phase == pending && s.isClose(st) {
			return errWrongSequence // no longer long before: look again
		}
		return s.succeed(ctx, st, v)
	})
}

// confirm decides the fate of st after v was written in its place, because F4 may
// not have held: the server was paused, for example. If a worker has claimed st
// in between, st fires, and v is taken back.
func (s *Store) confirm(ctx context.Context, st state, v version) error {
	msg := s.moveMessage(st)
	won, err := s.decide(ctx, st.v.id, msg.Header.Get(headerBy), func() error {
		_, err := s.publish.write(ctx, msg)
		return err
	})
	if err != nil || won {
		return err
	}
	now, err := s.resolve(ctx, v.shard, v.token)
	if err != nil {
		return err
	}
	if (now.phase == pending || now.phase == leased) && now.v.gen == v.gen {
		if err := s.cancelOnce(ctx, now); err != nil && !errors.Is(err, errWrongSequence) {
			return err
		}
	}
	return errWrongSequence
}

// once calls write until the server answers. If an earlier try, whose answer was
// lost, had stored v, then a later one fails, and is taken for success.
func (s *Store) once(ctx context.Context, v version, write func() error) error {
	tries := 0
	err := s.insist(ctx, func() error {
		tries++
		return write()
	})
	if tries == 1 || !errors.Is(err, errWrongSequence) {
		return err
	}
	stored, e := s.wasStored(ctx, v)
	if e != nil {
		return e
	}
	if stored {
		return nil
	}
	return err
}

// wasStored reports whether v is or was stored.
func (s *Store) wasStored(ctx context.Context, v version) (bool, error) {
	for _, kind := range []string{kindAt, kindDue, kindFate} {
		r, err := s.last(ctx, v.shard, s.names.of(kind, v.id))
		if errors.Is(err, errNoMessage) {
			continue
		}
		return err == nil && r.seq != 0, err
	}
	return false, nil
}
