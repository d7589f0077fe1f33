package durable

import (
	"context"
	"errors"
	"strconv"

	"github.com/nats-io/nats.go"
)

// Cancel removes the key's pending timer and returns it. If it returns nil, the
// timer never fires. It returns ErrNotFound if no timer is pending, and ErrFired
// if a worker has claimed it, which happens ClaimAhead before it is due. A retry
// that is pending is cancelled like any timer, and so is the next occurrence of a
// recurring one, which ends the series. An occurrence that was claimed before goes on,
// with its retries.
func (s *Store) Cancel(ctx context.Context, key string) (Timer, error) {
	t, err := s.cancel(ctx, key, missing)
	if err != nil {
		return Timer{}, wrap("Cancel", key, err)
	}
	return t, nil
}

// CancelIf is Cancel on the condition that the pending timer has the generation.
// It returns ErrConflict if it has another.
func (s *Store) CancelIf(ctx context.Context, key string, generation uint64) (Timer, error) {
	t, err := s.cancel(ctx, key, replaceOnly(generation))
	if err != nil {
		return Timer{}, wrap("CancelIf", key, err)
	}
	return t, nil
}

func (s *Store) cancel(ctx context.Context, key string, may replacing) (Timer, error) {
	if err := checkKey(key); err != nil {
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
		err = s.cancelOnce(ctx, st)
		if errors.Is(err, errWrongSequence) {
			continue
		}
		if err != nil {
			return Timer{}, err
		}
		s.counts.cancelled.Add(1)
		return st.v.timer()
	}
}

// cancelOnce removes the timer of st if st is still true. A schedule is removed on
// the condition that it stands (F1): then no worker has claimed it, and the fate
// that is written with it stops a due message that comes late. A due message is
// stopped by the first fate (F3).
func (s *Store) cancelOnce(ctx context.Context, st state) error {
	by := s.operation()
	c := s.firstFate(st.v.id)
	if st.phase == pending {
		c = condition{s.names.versions(st.v.shard, st.v.token), st.last}
	}
	msg := s.cancelMessage(st, by, c)
	won, err := s.decide(ctx, st.v.id, by, func() error {
		_, err := s.publish.write(ctx, msg)
		return err
	})
	if err != nil {
		return err
	}
	if !won {
		return errWrongSequence
	}
	if st.phase == leased {
		s.forget(st)
	}
	return nil
}

// cancelMessage returns the message that decides that st never fires, and purges
// its schedule.
func (s *Store) cancelMessage(st state, by string, c condition) *nats.Msg {
	ttl := ttlClose
	if !s.isClose(st) {
		ttl = ttlSettled
	}
	msg := s.fateMessage(st.v.id, fateCancelled, by, ttl)
	c.set(msg.Header)
	purge(msg.Header, s.names.of(kindAt, st.v.id))
	return msg
}

// forget deletes the due message of st. It does not wait: if it fails, a worker
// finds the fate and drops the message.
func (s *Store) forget(st state) {
	body := []byte(`{"seq":` + strconv.FormatUint(st.seq, 10) + `,"no_erase":true}`)
	subject := s.api + "STREAM.MSG.DELETE." + s.names.stream(st.v.shard)
	s.publish.send(&nats.Msg{Subject: subject, Data: body}, func(*nats.Msg, error) {})
}
