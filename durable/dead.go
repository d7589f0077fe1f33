package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// DeadTimer is a timer that was given up.
type DeadTimer struct {
	Timer

	// ID is the ID of its firings.
	ID string

	// Error is the text of the last attempt's error.
	Error string

	// GivenUp is when.
	GivenUp time.Time
}

// maxErrorSize is how much of an error's text is stored.
const maxErrorSize = 1024

// bury stores a dead letter.
func (s *Store) bury(ctx context.Context, v version, cause error) error {
	msg := s.deadMessage(v, cause)
	err := s.insist(ctx, func() error {
		_, err := s.publish.write(ctx, msg)
		return err
	})
	return ignore(err, errWrongSequence) // an earlier try was stored
}

// deadMessage returns the message that stores a dead letter, if there is none.
func (s *Store) deadMessage(v version, cause error) *nats.Msg {
	reason := fmt.Sprint(cause) // survives an Error that panics
	text := strconv.QuoteToASCII(reason)
	if len(text) > maxErrorSize {
		text = strconv.QuoteToASCII(reason[:maxErrorSize/4])
	}
	h := v.header()
	h[headerError] = []string{text}
	h[headerDead] = []string{strconv.FormatInt(s.now().UnixNano(), 10)}
	subject := s.names.of(kindDead, v.id)
	condition{subject, 0}.set(h)
	return &nats.Msg{Subject: subject, Header: h, Data: v.payload}
}

// Dead returns the timers that were given up, the oldest of each shard first. An
// error ends the sequence.
func (s *Store) Dead(ctx context.Context) iter.Seq2[DeadTimer, error] {
	return func(yield func(DeadTimer, error) bool) {
		for shard := range s.shards {
			for r, err := range s.scan(ctx, shard, s.names.all(shard, kindDead)) {
				var d DeadTimer
				if err == nil {
					d, err = s.deadTimer(r)
				}
				if err != nil {
					yield(DeadTimer{}, fmt.Errorf("durable: Dead: shard %d: %w", shard, err))
					return
				}
				if !yield(d, nil) {
					return
				}
			}
		}
	}
}

func (s *Store) deadTimer(r record) (DeadTimer, error) {
	_, v, err := s.version(r)
	if err != nil {
		return DeadTimer{}, err
	}
	at, err := strconv.ParseInt(r.header.Get(headerDead), 10, 64)
	if err != nil {
		return DeadTimer{}, fmt.Errorf("header %s: %w", headerDead, err)
	}
	text, err := strconv.Unquote(r.header.Get(headerError))
	if err != nil {
		text = r.header.Get(headerError)
	}
	t, err := v.timer()
	return DeadTimer{t, v.firingID(), text, time.Unix(0, at).UTC()}, err
}

// Requeue makes a dead letter a pending timer again, due at once, with all its
// attempts ahead of it and the same ID. It returns ErrNotFound if there is no
// dead letter of this key and generation, and ErrExists if the key has a pending
// timer.
func (s *Store) Requeue(ctx context.Context, key string, generation uint64) (Timer, error) {
	t, err := s.requeue(ctx, key, generation)
	if err != nil {
		return Timer{}, wrap("Requeue", key, err)
	}
	return t, nil
}

func (s *Store) requeue(ctx context.Context, key string, gen uint64) (Timer, error) {
	r, err := s.findDead(ctx, key, gen)
	if err != nil {
		return Timer{}, err
	}
	if err := s.guard.admit(); err != nil {
		return Timer{}, err
	}
	_, v, err := s.version(r)
	if err != nil {
		return Timer{}, err
	}
	next := v
	next.first, next.attempt = v.origin(), 1
	next.due = s.now().UnixNano()
	next.gen = generation(s.now(), v.gen)
	if err := s.replace(ctx, state{}, &next, replaceNone); err != nil {
		return Timer{}, s.guard.noted(err)
	}
	if err := s.purge(ctx, r); err != nil {
		return Timer{}, err
	}
	return next.timer()
}

// Discard removes a dead letter. It returns ErrNotFound if there is none of this
// key and generation.
func (s *Store) Discard(ctx context.Context, key string, generation uint64) error {
	r, err := s.findDead(ctx, key, generation)
	if err == nil {
		err = s.purge(ctx, r)
	}
	if err != nil {
		return wrap("Discard", key, err)
	}
	return nil
}

// findDead returns the dead letter of a key and generation. Those of occurrences
// have a token of their own, so that all of the generation are looked at.
func (s *Store) findDead(ctx context.Context, key string, gen uint64) (record, error) {
	if err := checkKey(key); err != nil {
		return record{}, err
	}
	shard, want := shardOf(key, s.shards), tokenOf(key)
	r, err := s.last(ctx, shard, s.names.of(kindDead, id{shard, want, gen}))
	if !errors.Is(err, errNoMessage) {
		return r, err
	}
	filter := s.names.of(kindDead, id{shard, "*", gen})
	r, err = s.last(ctx, shard, filter)
	if errors.Is(err, errNoMessage) {
		return record{}, noDeadLetter(gen)
	}
	if err != nil {
		return record{}, err
	}
	if _, v, err := s.names.parse(r.subject); err != nil || v.token.base() != want {
		return record{}, noDeadLetter(gen)
	}
	return r, nil
}

// noDeadLetter is the generation of a dead letter that there is none of: an
// [ErrNotFound] that does not speak of pending timers.
type noDeadLetter uint64

func (e noDeadLetter) Error() string {
	return fmt.Sprintf("there is no dead letter of this key with generation %d", uint64(e))
}

func (noDeadLetter) Is(target error) bool { return target == ErrNotFound }

// purge removes the messages of a record's subject.
func (s *Store) purge(ctx context.Context, r record) error {
	_, v, err := s.names.parse(r.subject)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"filter": r.subject})
	if err != nil {
		return err
	}
	subject := s.api + "STREAM.PURGE." + s.names.stream(v.shard)
	return s.insist(ctx, func() error {
		_, err := s.publish.write(ctx, &nats.Msg{Subject: subject, Data: body})
		return err
	})
}
