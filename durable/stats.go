package durable

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/durable/backend"
)

// Stats is a snapshot of a store: its sizes as last read from the database, and the counts
// of this Store since Open. Counts only grow. Retried and GivenUp leave out outcomes that
// PostgreSQL rejects at first and stores later.
type Stats struct {
	Time    time.Time // last reading of the sizes; zero if there was none
	Pending int64     // pending entries
	Claimed int64     // entries that fire, or are about to
	Dead    int64     // dead letters
	Pauses  int64     // pauses, see Store.Paused
	Bytes   int64     // disk in use
	Limit   int64     // limit of Bytes, or 0

	// Overdue is the lateness at Time of the oldest entry that has not begun to fire: the age of
	// the backlog. It counts pending entries, and claimed ones that wait for a handler in this
	// process. Other processes report those that wait for their handlers.
	Overdue time.Duration

	// Due counts pending entries by due time, each range with the ones before it: overdue, and
	// due in the next second, minute, hour, and day. Counts stop at [CountLimit].
	Due []DueCount

	// Backend has numbers that only some databases have, such as
	// "notification_queue_usage".
	Backend map[string]float64

	Set       int64 // entries set and created, in a Tx even if the transaction rolls back
	Moved     int64 // even if the transaction rolls back
	Cancelled int64 // even if the transaction rolls back

	HandlerStats       // of all handlers
	Limited      int64 // entries that wait in this process for limits; if they are due, Overdue counts them, too

	Leased    int64 // entries leased, including repeatedly
	Missed    int64 // claims that left out occurrences, each one or more
	Overtaken int64 // claims that a Cancel, a Move, or another worker won
	Fenced    int64 // firings prevented because the lease had ended
	Adopted   int64 // entries taken over from workers that were gone

	ClaimTime hwt.Histogram // durations of claim batches

	// Errors counts the errors for which calls and workers have waited for the database, such as a
	// lost connection, a read-only server, or another process that keeps the file locked. LastError is
	// the text of the last one, and LastErrorTime its time on this machine's clock.
	Errors        int64
	LastError     string
	LastErrorTime time.Time

	// Kinds has the numbers of each kind of a [Mux] that has worked, ordered by Pattern.
	Kinds []KindStats

	// ClockOffset is the database's clock minus this machine's, and ClockError the
	// largest possible error of that.
	ClockOffset, ClockError time.Duration
}

// KindStats are the numbers of one kind of a [Mux]. The numbers of [Stats] are the sums
// of all kinds and of Works without kinds.
type KindStats struct {
	Pattern string // of the kind
	HandlerStats
}

// HandlerStats are the numbers of handlers in this process.
type HandlerStats struct {
	Running int64         // handlers that run
	Longest time.Duration // time since the first of them was called

	Fired     int64 // calls of handlers
	Succeeded int64 // attempts after which the entry is done
	Retried   int64 // attempts that failed and are repeated
	Postponed int64 // attempts that returned Postpone
	GivenUp   int64 // entries that became dead letters
	Overtime  int64 // attempts that ran on after the end of their Timeout

	Lateness hwt.Histogram // times from due times to calls of handlers
}

// handlerStats returns the counts of a kind.
func handlerStats(c *kindCounts) HandlerStats {
	return HandlerStats{Fired: c.fired.Load(), Succeeded: c.succeeded.Load(), Retried: c.retried.Load(), Postponed: c.postponed.Load(),
		GivenUp: c.givenUp.Load(), Overtime: c.overtime.Load(), Lateness: c.lateness.load()}
}

// add adds the counts of a kind.
func (h *HandlerStats) add(k *HandlerStats) {
	h.Fired, h.Succeeded, h.Retried = h.Fired+k.Fired, h.Succeeded+k.Succeeded, h.Retried+k.Retried
	h.Postponed, h.GivenUp, h.Overtime = h.Postponed+k.Postponed, h.GivenUp+k.GivenUp, h.Overtime+k.Overtime
	h.Lateness.Sum += k.Lateness.Sum
	for i, n := range k.Lateness.Counts {
		h.Lateness.Counts[i] += n
	}
}

// DueCount is the number of pending entries that were due Within a time from the reading.
type DueCount struct {
	Within  time.Duration
	Entries int64
}

// CountLimit bounds the counts in Stats.Due.
const CountLimit = backend.CountLimit

// sizes are the last reading of the database's sizes.
type sizes struct {
	turn chan struct{}           // holds an element while a caller reads the database
	last atomic.Pointer[reading] // replaced by that caller
}

type reading struct {
	backend.Stats
	overdue   time.Duration
	at, tried time.Time // ends of the last reading that succeeded, and of the last one
	err       error     // of the last one
}

func newSizes() *sizes {
	z := &sizes{turn: make(chan struct{}, 1)}
	z.last.Store(&reading{})
	return z
}

const (
	sizesFor    = 2 * time.Second // time for which sizes are current
	sizesWithin = 2 * time.Second // time that Stats waits for the database
)

// dueRanges are the ranges of Stats.Due.
var dueRanges = [...]time.Duration{0, time.Second, time.Minute, time.Hour, 24 * time.Hour}

// read returns the last reading, and reads again if it is old. After an error the sizes stay as
// they were, and callers that waited do not try again, unless the end of ctx was the reason.
func (z *sizes) read(ctx context.Context, s *Store) reading {
	within, cancel := context.WithTimeout(ctx, sizesWithin)
	defer cancel()
	select {
	case z.turn <- struct{}{}:
		defer func() { <-z.turn }()
	case <-within.Done():
		last := *z.last.Load()
		last.err = context.Cause(within)
		return last
	}
	last := *z.last.Load()
	if time.Since(last.tried) < sizesFor {
		return last
	}
	s.clock.refresh(within)
	now := s.clock.nanos()
	due := make([]int64, len(dueRanges))
	for i, r := range dueRanges {
		due[i] = now + int64(r)
	}
	stats, err := s.backend.Stats(within, due)
	if last.err = err; err != nil && ctx.Err() != nil {
		return last
	}
	last.tried = time.Now()
	if err == nil {
		last.Stats, last.at, last.overdue = stats, last.tried, 0
		_, _, waiting := s.works.running("")
		if due := sooner(stats.Oldest, waiting); due != 0 {
			last.overdue = max(0, time.Duration(s.clock.nanos()-due))
		}
	}
	z.last.Store(&last)
	return last
}

// addKinds adds the numbers of the kinds, and their sums.
func (s *Store) addKinds(st *Stats) {
	for pattern, c := range s.counts.kinds.all() {
		k := KindStats{pattern, handlerStats(c)}
		st.add(&k.HandlerStats)
		if pattern != "" {
			k.Running, k.Longest, _ = s.works.running(pattern)
			st.Kinds = append(st.Kinds, k)
		}
	}
}

// Stats returns the store's numbers. It reads the sizes from the database if the last reading
// is older than two seconds, and waits for that until ctx ends, for two seconds at most. After
// an error, the sizes come from the last reading, and the counts are current.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	sizes := s.sizes.read(ctx, s)
	c := &s.counts
	st := Stats{
		Time:    sizes.at,
		Pending: sizes.Pending, Claimed: sizes.Claimed, Dead: sizes.Dead, Pauses: sizes.Pauses,
		Bytes: sizes.Bytes, Limit: sizes.Limit, Overdue: sizes.overdue, Backend: sizes.More,
		Set: c.set.Load(), Moved: c.moved.Load(), Cancelled: c.cancelled.Load(),
		Leased: c.leased.Load(), Missed: c.missed.Load(), Overtaken: c.overtaken.Load(),
		Fenced: c.fenced.Load(), Adopted: c.adopted.Load(), ClaimTime: c.claimTime.load(),
	}
	s.addKinds(&st)
	for i, n := range sizes.Due {
		st.Due = append(st.Due, DueCount{dueRanges[i], n})
	}
	st.Running, st.Longest, _ = s.works.running("")
	st.Limited = s.works.limited()
	st.ClockOffset, st.ClockError = s.clock.figures()
	var last error
	if st.Errors, st.LastErrorTime, last = s.backend.Trouble().Last(); last != nil {
		st.LastError = last.Error()
	}
	if sizes.err != nil {
		return st, fmt.Errorf("durable: Stats: %w", sizes.err)
	}
	return st, nil
}
