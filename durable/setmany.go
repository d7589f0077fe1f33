package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// SetMany sets the Key, Due and Payload of each timer of seq, as Set does, with
// up to thousands of writes under way at a time, as the server keeps up. It returns how
// many are stored. The first error ends it; what was under way by then may be stored or
// not. Of several timers with one key, any may be the one that stays.
func (s *Store) SetMany(ctx context.Context, seq iter.Seq[Timer]) (int, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m := &many{store: s, ctx: inner, cancel: cancel, window: newWindow(inner, s.options.Timeout)}
	for t := range seq {
		if !m.set(t) {
			break
		}
	}
	settled := make(chan struct{})
	go func() { // until each request is answered, or its timeout or the store's end
		m.under.Wait()
		close(settled)
	}()
	select {
	case <-settled:
	case <-ctx.Done():
		m.finish(fmt.Errorf("durable: SetMany: %w", context.Cause(ctx)))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stored, m.err
}

// many is one SetMany.
type many struct {
	store  *Store
	ctx    context.Context
	cancel context.CancelCauseFunc
	window *window
	under  sync.WaitGroup

	mu     sync.Mutex
	stored int   // Guarded by mu.
	err    error // The first. Guarded by mu.
}

// set begins to set one timer, and reports whether to go on.
func (m *many) set(t Timer) bool {
	s := m.store
	if err := s.check(request{key: t.Key, due: t.Due, payload: t.Payload}); err != nil {
		m.finish(wrap("SetMany", t.Key, err))
		return false
	}
	if !m.window.enter() {
		m.finish(fmt.Errorf("durable: SetMany: %w", context.Cause(m.ctx)))
		return false
	}
	m.under.Add(1)
	shard, tok := shardOf(t.Key, s.shards), tokenOf(t.Key)
	v := version{id: id{shard, tok, generation(s.now(), 0)}, due: t.Due.UnixNano(), payload: bytes.Clone(t.Payload), attempt: 1}
	msg := s.pendingMessage(v, condition{s.names.versions(shard, tok), 0}, s.serverNow())
	sent := time.Now()
	s.publish.send(msg, func(answer *nats.Msg, err error) {
		m.window.answered(time.Since(sent))
		if _, err = stored(answer, err); err == nil {
			s.counts.set.Add(1)
			m.done(nil)
			return
		}
		// The key is not new, or the answer was lost: one at a time.
		go func() { m.done(m.slowly(t, v, err)) }()
	})
	return true
}

// slowly sets a timer for which the fast way failed with err.
func (m *many) slowly(t Timer, v version, err error) error {
	s := m.store
	if !errors.Is(err, errWrongSequence) && !errors.Is(err, errUnavailable) {
		return wrap("SetMany", t.Key, s.guard.noted(err))
	}
	if stored, err := s.wasStored(m.ctx, v); err != nil || stored {
		return err
	}
	_, err = s.Set(m.ctx, t.Key, t.Due, t.Payload)
	return err
}

// done ends one timer's way.
func (m *many) done(err error) {
	m.finish(err)
	m.window.leave()
	m.under.Done()
}

func (m *many) finish(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		m.stored++
	case m.err == nil:
		m.err = err
		m.cancel(err)
	}
}
