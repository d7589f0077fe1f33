package durable

import (
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	buckets "github.com/hashedwheel/hwt/internal/histogram"
)

// Stats is a snapshot of a store: its size, as last asked of the server, and what
// this Store has done since Open. Counters only grow.
type Stats struct {
	Time    time.Time // when the server was last asked; zero if it has not answered yet
	Pending int64     // timers stored and not yet handed to workers
	Leased  int64     // timers in the hands of workers, or on the way to them
	Dead    int64     // timers given up
	Bytes   int64     // disk in use on each server
	Limit   int64     // what Bytes, or the account's use, is measured against; 0 if unlimited

	Set       int64 // timers set and created
	Moved     int64
	Cancelled int64

	Received    int64 // timers received by workers, including repeatedly
	Redelivered int64 // of those, repeatedly
	Fired       int64 // handlers called
	Succeeded   int64 // handlers that returned nil
	Retried     int64 // attempts that failed and are tried again
	GivenUp     int64 // timers that became dead letters
	Missed      int64 // occurrences left out, by MissedSkip and MissedOnce
	Refused     int64 // claims that a Cancel, Move or another worker won
	Fenced      int64 // firings refused because the lease had ended
	Repaired    int64 // overdue timers that an audit found and set free

	// Lateness counts how long after their due times handlers were called.
	Lateness hwt.Histogram

	// Claims counts how long it took from the first request to claim a timer until
	// the claim was stored.
	Claims hwt.Histogram

	// ClockOffset is how far the server's clock is ahead of this machine's, and
	// ClockError the most that this may be wrong by.
	ClockOffset time.Duration
	ClockError  time.Duration

	Shards []ShardStats
}

// ShardStats is one shard's part of Stats.
type ShardStats struct {
	Pending, Leased, Dead, Bytes int64

	// Lag is how much later than asked the server handed out the last timer that
	// a Work of this Store received, by the server's clock.
	Lag time.Duration

	// Canary is when the shard's canary last came through. It is zero before the
	// first, and if no Work of this Store runs.
	Canary time.Time

	// Overdue is for how long the shard's canary has waited to reach a worker of any
	// Store, by the server's clock: 0 unless the server is behind or there is no
	// worker. It is negative if the shard has no canary: no worker ever ran.
	Overdue time.Duration
}

// counts are the counters of Stats.
type counts struct {
	set, moved, cancelled                     atomic.Int64
	received, redelivered, fired, succeeded   atomic.Int64
	retried, givenUp, missed, refused, fenced atomic.Int64
	repaired                                  atomic.Int64

	lateness, claims histogram
}

// histogram counts durations.
type histogram struct {
	counts [len(hwt.Histogram{}.Counts)]atomic.Int64
	sum    atomic.Int64
}

// note counts d.
func (h *histogram) note(d time.Duration) {
	h.counts[buckets.BucketOf(int64(d))].Add(1)
	h.sum.Add(int64(d))
}

func (h *histogram) load() hwt.Histogram {
	snapshot := hwt.Histogram{Sum: time.Duration(h.sum.Load())}
	for i := range h.counts {
		snapshot.Counts[i] = h.counts[i].Load()
	}
	return snapshot
}

// Stats returns the store's figures. It does not ask the server: sizes are those
// of the last measurement, which the store makes every few seconds.
func (s *Store) Stats() Stats {
	st := s.sizes.load()
	c := &s.counts
	st.Limit = s.guard.most.Load()
	st.Set, st.Moved, st.Cancelled = c.set.Load(), c.moved.Load(), c.cancelled.Load()
	st.Received, st.Redelivered = c.received.Load(), c.redelivered.Load()
	st.Fired, st.Succeeded = c.fired.Load(), c.succeeded.Load()
	st.Retried, st.GivenUp, st.Missed = c.retried.Load(), c.givenUp.Load(), c.missed.Load()
	st.Refused, st.Fenced, st.Repaired = c.refused.Load(), c.fenced.Load(), c.repaired.Load()
	st.Lateness, st.Claims = c.lateness.load(), c.claims.load()
	st.ClockOffset = time.Duration(s.offset.ahead.Load())
	st.ClockError = time.Duration(s.offset.error.Load())
	return st
}
