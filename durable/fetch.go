package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// fetchBatch is the most that one request asks for.
const fetchBatch = 500

// consumers returns the consumer of each shard.
func (w *worker) consumers(ctx context.Context) ([]jetstream.Consumer, error) {
	s := w.store
	out := make([]jetstream.Consumer, s.shards)
	for shard := range out {
		err := patiently(ctx, func(ctx context.Context) (err error) {
			out[shard], err = s.js.Consumer(ctx, s.names.stream(shard), consumerName)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("consumer of %s: %w", s.names.stream(shard), err)
		}
	}
	return out, nil
}

// fetch asks for the due messages of one shard until ctx ends. The last request is
// not broken off, because what the server sent to it would come back only after
// the lease.
func (w *worker) fetch(ctx context.Context, shard int, consumer jetstream.Consumer) {
	for {
		n := w.reserve(fetchBatch)
		if n == 0 {
			return
		}
		err := w.fetchOnce(shard, consumer, n)
		if err != nil && ctx.Err() == nil {
			w.log.Warn("durable: fetching timers", "shard", shard, "error", err)
			w.store.sleep(ctx, 250*time.Millisecond)
		}
		if w.behind.Swap(false) {
			w.log.Warn("durable: this machine's clock is behind the server's", "ahead", time.Duration(w.store.offset.ahead.Load()))
			w.store.sleep(ctx, behindPause)
		}
	}
}

func (w *worker) fetchOnce(shard int, consumer jetstream.Consumer, n int) error {
	asked := stamp(w.store)
	batch, err := consumer.Fetch(n, jetstream.FetchMaxWait(fetchWait))
	if err != nil {
		w.unreserve(n)
		return err
	}
	for msg := range batch.Messages() {
		n--
		w.take(shard, msg, asked)
	}
	w.unreserve(n)
	if err := batch.Error(); err != nil && !errors.Is(err, jetstream.ErrNoHeartbeat) {
		return err
	}
	return nil
}

// reserve waits for room in held, and returns how much of it, up to most, is now
// the caller's: none if the worker drains.
func (w *worker) reserve(most int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.draining && len(w.held)+w.reserved >= w.options.MaxHeld {
		w.room.Wait()
	}
	if w.draining {
		return 0
	}
	n := min(most, w.options.MaxHeld-len(w.held)-w.reserved)
	w.reserved += n
	return n
}

func (w *worker) unreserve(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reserved -= n
	w.room.Broadcast()
}

func (w *worker) startDraining() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.draining, w.drainsAt = true, stamp(w.store)
	w.room.Broadcast()
}
