package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// watchPeriod is how often a store asks the server for its sizes and its clock.
const watchPeriod = 5 * time.Second

// sizes is what the watch measured last.
type sizes struct {
	mu     sync.Mutex
	stats  Stats  // Only the sizes, the time and the shards. Guarded by mu.
	begun  uint64 // measurements. Guarded by mu.
	latest uint64 // the measurement that stats are of, by its number. Guarded by mu.
}

// begin returns the number of a measurement.
func (z *sizes) begin() uint64 {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.begun++
	return z.begun
}

// store stores a measurement, unless one that began later is stored. What the canaries
// found is kept.
func (z *sizes) store(number uint64, measured Stats) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if number < z.latest {
		return
	}
	for n := range measured.Shards {
		measured.Shards[n].Lag, measured.Shards[n].Canary = z.stats.Shards[n].Lag, z.stats.Shards[n].Canary
	}
	z.stats, z.latest = measured, number
}

func (z *sizes) load() Stats {
	z.mu.Lock()
	defer z.mu.Unlock()
	st := z.stats
	st.Shards = append([]ShardStats(nil), st.Shards...)
	return st
}

// shard changes one shard's figures.
func (z *sizes) shard(n int, f func(*ShardStats)) {
	z.mu.Lock()
	defer z.mu.Unlock()
	f(&z.stats.Shards[n])
}

// watch measures until the store is closed.
func (s *Store) watch() {
	defer s.tasks.Done()
	for {
		ctx, cancel := context.WithTimeout(s.ctx, watchPeriod)
		if err := s.Refresh(ctx); err == nil {
			s.largest.Store(s.conn.MaxPayload()) // another server may have another one
		} else if s.ctx.Err() == nil {
			s.log.Warn("durable: the server did not answer for its sizes", "error", err)
		}
		cancel()
		if s.sleep(s.ctx, watchPeriod) != nil {
			return
		}
	}
}

// Refresh asks the server for what Stats returns. The store does so by itself
// every five seconds.
func (s *Store) Refresh(ctx context.Context) error {
	number := s.sizes.begin()
	var total Stats
	shards := make([]ShardStats, s.shards)
	for n := range shards {
		if err := s.measureShard(ctx, n, &shards[n]); err != nil {
			return fmt.Errorf("durable: shard %d: %w", n, err)
		}
		total.Pending += shards[n].Pending
		total.Leased += shards[n].Leased
		total.Dead += shards[n].Dead
		total.Bytes += shards[n].Bytes
	}
	total.Time, total.Shards = s.now(), shards
	s.sizes.store(number, total)
	return s.measure(ctx, total.Bytes)
}

// measureShard reads the sizes of one shard, and the server's clock.
func (s *Store) measureShard(ctx context.Context, n int, out *ShardStats) error {
	before := s.now()
	msg, err := s.publish.request(ctx, &nats.Msg{Subject: s.api + "STREAM.INFO." + s.names.stream(n)})
	if err != nil {
		return err
	}
	after := s.now()
	var info struct {
		Error *serverError `json:"error"`
		Time  time.Time    `json:"ts"`
		State struct {
			Bytes int64 `json:"bytes"`
		} `json:"state"`
	}
	if err := json.Unmarshal(msg.Data, &info); err != nil {
		return err
	}
	if info.Error != nil {
		return info.Error
	}
	s.offset.measured(before, after, info.Time)
	out.Bytes = info.State.Bytes
	counts := map[string]*int64{kindAt: &out.Pending, kindDue: &out.Leased, kindDead: &out.Dead}
	for kind, count := range counts {
		if *count, err = s.count(ctx, n, kind); err != nil {
			return err
		}
	}
	out.Overdue = -1
	canary, err := s.last(ctx, n, s.names.versions(n, canaryToken))
	if err != nil {
		return ignore(err, errNoMessage)
	}
	kind, v, err := s.version(canary)
	if err == nil {
		out.Overdue = time.Duration(max(s.serverNow().UnixNano()-s.wake(v.due), 0))
	}
	if count := counts[kind]; count != nil && *count > 0 {
		*count-- // the canary is not a user's
	}
	return err
}

// count returns how many messages of a kind a shard has.
func (s *Store) count(ctx context.Context, shard int, kind string) (int64, error) {
	body, err := json.Marshal(scan{Seq: 1, Next: s.names.all(shard, kind), Batch: 1})
	if err != nil {
		return 0, err
	}
	msg, err := s.publish.request(ctx, &nats.Msg{Subject: s.api + "DIRECT.GET." + s.names.stream(shard), Data: body})
	if err != nil {
		return 0, err
	}
	if msg.Header.Get("Status") != "" {
		return 0, nil // none
	}
	more, err := strconv.ParseInt(msg.Header.Get("Nats-Num-Pending"), 10, 64)
	return more + 1, err
}
