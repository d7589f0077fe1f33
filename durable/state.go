package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Ground rules of the format
//
//	F1. Of each key, one generation at most is current: pending (a schedule on
//	    its at subject) or due (a message on its due subject). A new generation is
//	    written on the condition that the last message of both kinds is the one
//	    its writer has seen. So writers exclude each other.
//	F2. The server turns a schedule into a due message, and purges the schedule,
//	    whenever it likes after the lead before the due time. That write is
//	    conditional on nothing: it may come late, after the schedule was replaced
//	    or purged by a writer.
//	F3. A generation has one fate at most: the first message on its fate subject,
//	    written on the condition that there is none. A worker fires a due message
//	    only after it wrote the fate "claimed". So a late due message, whose fate
//	    is another, is harmless.
//	F4. A schedule whose time is further away than closeTime has no due message,
//	    nor gets one before the write of an operation that begins now. Operations
//	    on such a schedule need not decide its fate: F1 excludes them from each
//	    other.
//	F5. A write of a new generation that replaces a close one decides the fate of
//	    that in the same atomic batch.

// closeTime is how long before the server turns a schedule into a due message an
// operation decides the generation's fate. It must exceed the difference that is
// left between the clocks after correction by offset, and how long a leader
// without a majority goes on (10 s).
const closeTime = 30 * time.Second

// phase is what is known of a key.
type phase uint8

const (
	absent  phase = iota // nothing is current
	pending              // a schedule
	leased               // a due message, unclaimed
	fired                // a due message, claimed
)

// state is what is known of a key: a basis for a conditional write, which fails
// if it is out of date.
type state struct {
	phase phase
	last  uint64  // the sequence that a new generation is conditional on (F1)
	seq   uint64  // the sequence of v
	v     version // not in absent
}

// fate is what was decided about a generation.
type fate struct {
	is     string // fateClaimed, fateCancelled or fateMoved
	by     string
	record record
}

// fate reads the fate of a generation, or returns errNoMessage if it is open.
func (s *Store) fate(ctx context.Context, v id) (fate, error) {
	r, err := s.last(ctx, v.shard, s.names.of(kindFate, v))
	if err != nil {
		return fate{}, err
	}
	f := fate{is: r.header.Get(headerFate), by: r.header.Get(headerBy), record: r}
	switch f.is {
	case fateClaimed, fateCancelled, fateMoved:
		return f, nil
	}
	return fate{}, fmt.Errorf("fate of generation %d: %q (expected: claimed, cancelled or moved)", v.gen, f.is)
}

// resolve reads the state of a key. A recurring timer is fired only if it has no
// next occurrence: one that is claimed may be out of date, since the write of its
// claim also sets the next one.
func (s *Store) resolve(ctx context.Context, shard int, t token) (state, error) {
	for seen := uint64(0); ; { // ends: seen grows with each occurrence
		st, err := s.resolveOnce(ctx, shard, t)
		if err != nil || st.phase != fired || st.v.every.isZero() || st.seq == seen {
			return st, err
		}
		seen = st.seq
		if err := s.sleep(ctx, claimRetry); err != nil { // the server may be in the middle of that write
			return state{}, err
		}
	}
}

// resolveOnce reads the last message of a key, and then its fate.
func (s *Store) resolveOnce(ctx context.Context, shard int, t token) (state, error) {
	r, err := s.last(ctx, shard, s.names.versions(shard, t))
	if errors.Is(err, errNoMessage) {
		return state{}, nil
	}
	if err != nil {
		return state{}, err
	}
	st, err := s.stateOf(ctx, r)
	if err != nil || st.phase != absent {
		return st, err
	}
	return s.beneath(ctx, shard, t, st)
}

// stateOf returns the state of the generation in r.
func (s *Store) stateOf(ctx context.Context, r record) (state, error) {
	kind, v, err := s.version(r)
	if err != nil {
		return state{}, err
	}
	st := state{pending, r.seq, r.seq, v}
	if kind == kindAt {
		return st, nil
	}
	f, err := s.fate(ctx, v.id)
	switch {
	case errors.Is(err, errNoMessage):
		st.phase = leased
	case err != nil:
		return state{}, err
	case f.is == fateClaimed:
		st.phase = fired
	default:
		st.phase = absent
	}
	return st, nil
}

// beneath finds what is current of a key whose last message is one that came late
// (F2): something written before it, or nothing.
func (s *Store) beneath(ctx context.Context, shard int, t token, top state) (state, error) {
	found := top
	for r, err := range s.scan(ctx, shard, s.names.versions(shard, t)) {
		if err != nil {
			return state{}, err
		}
		st, err := s.stateOf(ctx, r)
		if err != nil {
			return state{}, err
		}
		if st.phase != absent {
			found = st
		}
	}
	found.last = top.last
	return found, nil
}

// successor returns the message that stores v as the successor of st, and purges
// the schedule of st.
func (s *Store) successor(st state, v version) *nats.Msg {
	msg := s.pendingMessage(v, condition{s.names.versions(v.shard, v.token), st.last}, s.serverNow())
	if st.phase != absent {
		purge(msg.Header, s.names.of(kindAt, st.v.id))
	}
	return msg
}

// succeed writes v as the successor of st.
func (s *Store) succeed(ctx context.Context, st state, v version) error {
	_, err := s.publish.write(ctx, s.successor(st, v))
	return err
}

// isClose reports whether the server may turn the schedule in st into a due
// message soon, or has.
func (s *Store) isClose(st state) bool {
	return st.phase == leased || s.wake(st.v.due)-s.serverNow().UnixNano() < int64(closeTime)
}
