package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
)

// Get returns the key's pending timer. It returns ErrNotFound if there is none, and
// ErrFired if a worker has claimed it.
func (s *Store) Get(ctx context.Context, key string) (Timer, error) {
	if err := checkKey(key); err != nil {
		return Timer{}, wrap("Get", key, err)
	}
	st, err := s.resolve(ctx, shardOf(key, s.shards), tokenOf(key))
	if err == nil {
		err = missing(st)
	}
	if err != nil {
		return Timer{}, wrap("Get", key, err)
	}
	t, err := st.v.timer()
	if err != nil {
		return Timer{}, wrap("Get", key, err)
	}
	return t, nil
}

// All returns the pending timers, in no promised order. They are read while other
// calls go on: a timer that is moved meanwhile may be returned twice, or with
// its old time. One that was pending all along, and was not changed, is returned
// once. An error ends the sequence.
func (s *Store) All(ctx context.Context) iter.Seq2[Timer, error] {
	return func(yield func(Timer, error) bool) {
		for shard := range s.shards {
			if !s.allOf(ctx, shard, yield) {
				return
			}
		}
	}
}

// allOf yields the timers of one shard, and reports whether to go on.
func (s *Store) allOf(ctx context.Context, shard int, yield func(Timer, error) bool) bool {
	for _, kind := range []string{kindAt, kindDue} {
		for r, err := range s.scan(ctx, shard, s.names.all(shard, kind)) {
			if err != nil {
				yield(Timer{}, fmt.Errorf("durable: All: shard %d: %w", shard, err))
				return false
			}
			t, ok := s.listed(ctx, kind, r)
			if ok && !yield(t, nil) {
				return false
			}
		}
	}
	return true
}

// listed returns the timer in r, unless it is none that All returns.
func (s *Store) listed(ctx context.Context, kind string, r record) (Timer, bool) {
	_, v, err := s.version(r)
	if err != nil || isCanary(v.token) {
		return Timer{}, false
	}
	if kind == kindDue {
		if _, err := s.fate(ctx, v.id); !errors.Is(err, errNoMessage) {
			return Timer{}, false
		}
	}
	t, err := v.timer()
	return t, err == nil
}

// scan is a request for the messages of a filter from a sequence on.
type scan struct {
	Seq   uint64 `json:"seq"`
	Next  string `json:"next_by_subj"`
	Batch int    `json:"batch"`
}

const scanBatch = 500

// scan yields the messages that filter matches, in the order of the stream.
func (s *Store) scan(ctx context.Context, shard int, filter string) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		next := uint64(1)
		for {
			batch, err := s.scanOnce(ctx, shard, scan{next, filter, scanBatch})
			for _, r := range batch {
				if !yield(r, nil) {
					return
				}
				next = r.seq + 1
			}
			if err != nil {
				yield(record{}, err)
				return
			}
			if len(batch) == 0 {
				return
			}
		}
	}
}

// scanOnce reads one batch, which is empty at the end. A batch that breaks off is
// returned as far as it came: the next begins behind it.
func (s *Store) scanOnce(ctx context.Context, shard int, what scan) ([]record, error) {
	body, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	var batch []record
	err = s.insist(ctx, func() error {
		batch, err = s.batch(ctx, s.api+"DIRECT.GET."+s.names.stream(shard), body)
		return err
	})
	return batch, err
}

// batch sends a request that is answered by several messages and an end mark.
func (s *Store) batch(ctx context.Context, subject string, body []byte) ([]record, error) {
	inbox := s.conn.NewInbox()
	answers := make(chan *nats.Msg, scanBatch+1)
	sub, err := s.conn.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnavailable, err)
	}
	defer sub.Unsubscribe()
	if err := s.conn.PublishRequest(subject, inbox, body); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnavailable, err)
	}
	timeout := time.NewTimer(s.options.Timeout)
	defer timeout.Stop()
	var out []record
	for {
		select {
		case msg := <-answers:
			switch msg.Header.Get("Status") {
			case "":
			case "204", "404": // the end, or nothing
				return out, nil
			case noResponders:
				return out, errUnavailable
			default:
				return out, fmt.Errorf("direct get: %s %s", msg.Header.Get("Status"), msg.Header.Get("Description"))
			}
			r, err := parseDirect(msg)
			if err != nil {
				return out, err
			}
			out = append(out, r)
			timeout.Reset(s.options.Timeout)
		case <-timeout.C:
			if len(out) > 0 {
				return out, nil
			}
			return nil, errUnavailable
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.ctx.Done():
			return nil, ErrClosed
		}
	}
}
