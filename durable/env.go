package durable

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/durable/backend"
)

// env is the part of a Store that its Works share: the database, its clock, and the counters.
type env struct {
	backend backend.Backend // Immutable, as are limits and options.
	limits  backend.Limits
	options Options
	clock   dbClock
	counts  counts
	doubt   atomic.Int64 // time of the last call that failed
}

// mostTogether bounds the kinds that one feed reads: each kind is a parameter of a statement.
const mostTogether = 1000

// together returns the number of rows of a store from which on each kind of a Mux needs a feed, or 0 if each kind always does.
func (e *env) together(kinds int) int {
	if kinds > mostTogether {
		return 0
	}
	return e.limits.Together
}

// untilDue returns the time until a row is due on the database's clock.
func (e *env) untilDue(r *backend.Row) time.Duration { return time.Duration(r.Due - e.clock.nanos()) }

// inDoubt reports whether a call has failed in the last seconds: the database may store its
// effect later.
func (e *env) inDoubt() bool { return e.clock.nanos()-e.doubt.Load() < int64(sweepEvery) }

// isNear reports whether a row with this due time must be announced.
func (e *env) isNear(due int64) bool {
	return due-e.clock.nanos() <= int64(e.limits.Lead+nearSlack)
}

// trouble notes an error of the database after which a worker tries again.
func (e *env) trouble(message string, err error, args ...any) {
	e.backend.Trouble().Note(e.options.Logger, message, err.Error(), err, args...)
}

// nearSlack covers the time that it takes to store a row: its due time may come within
// the lead before the row is stored.
const nearSlack = time.Second

// endWithin is the time that the end of Work gives the database for each of its last calls.
const endWithin = 5 * time.Second

// dbClock estimates the database's clock: its last reading plus the monotonic time since. Steps
// of this machine's wall clock do not matter.
type dbClock struct {
	now func(context.Context) (time.Time, error)

	asking sync.Mutex // held by the caller of refresh that reads

	mu     sync.Mutex
	at     time.Time     // local time at the end of the last reading, with its monotonic part. Guarded by mu.
	read   int64         // database time at that moment. Guarded by mu.
	offset time.Duration // database's clock minus this machine's. Guarded by mu.
	err    time.Duration // half of the round trip. Guarded by mu.
}

// maxDrift is the difference between elapsed wall time and elapsed monotonic time from
// which on the last reading is out of date: the wall clock was set, or the machine slept
// while its monotonic clock stood still.
const maxDrift = 5 * time.Millisecond

// measure reads the database's clock. The reading counts from the end of the round trip,
// so that the estimate is never ahead of the database, and behind by the time of the
// answer at most.
func (c *dbClock) measure(ctx context.Context) error {
	sent := time.Now()
	read, err := c.now(ctx)
	if err != nil {
		return err
	}
	at := time.Now()
	half := at.Sub(sent) / 2
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.read, c.err = at, read.UnixNano(), half
	c.offset = read.Round(0).Sub(at.Add(-half).Round(0))
	return nil
}

// freshFor is the age up to which a reading counts where no Work reads the clock.
const freshFor = 10 * time.Second

// refresh reads the clock if the last reading is old. If that fails, or while another caller
// reads, the last reading stays.
func (c *dbClock) refresh(ctx context.Context) {
	c.mu.Lock()
	old := time.Since(c.at) > freshFor
	c.mu.Unlock()
	if (old || c.stale()) && c.asking.TryLock() {
		defer c.asking.Unlock()
		_ = c.measure(ctx) // the caller meets the same error
	}
}

// nanos returns the database's time.
func (c *dbClock) nanos() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read + int64(time.Since(c.at))
}

// stale reports whether the clock must be read again before its time counts.
func (c *dbClock) stale() bool {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	drift := now.Round(0).Sub(c.at.Round(0)) - now.Sub(c.at)
	return drift.Abs() > maxDrift
}

func (c *dbClock) figures() (offset, err time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset, c.err
}

// counts are the counters of Stats.
type counts struct {
	set, moved, cancelled                      atomic.Int64
	leased, missed, overtaken, fenced, adopted atomic.Int64
	claimTime                                  histogram
	kinds                                      kindTable
}

// op counts an operation that succeeded.
func (c *counts) op(kind backend.Kind) {
	switch kind {
	case backend.Set, backend.Create:
		c.set.Add(1)
	case backend.Move:
		c.moved.Add(1)
	case backend.Cancel:
		c.cancelled.Add(1)
	}
}

// histogram counts durations.
type histogram struct {
	counts [len(hwt.Histogram{}.Counts)]atomic.Int64
	sum    atomic.Int64
}

func (h *histogram) note(d time.Duration) {
	i := sort.Search(len(h.counts)-1, func(i int) bool { return d <= hwt.Histogram{}.Bound(i) })
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

func (h *histogram) load() hwt.Histogram {
	snapshot := hwt.Histogram{Sum: time.Duration(h.sum.Load())}
	for i := range h.counts {
		snapshot.Counts[i] = h.counts[i].Load()
	}
	return snapshot
}

// kindCounts are the counters of a kind in all Works of a Store.
type kindCounts struct {
	fired, succeeded, retried, postponed, givenUp, overtime atomic.Int64
	lateness                                                histogram
}

// kindTable has the counters of a Store by pattern of the kind, or "" for Works without kinds.
type kindTable struct {
	mu     sync.Mutex
	counts map[string]*kindCounts // Guarded by mu.
}

// of returns the counters of a kind.
func (t *kindTable) of(pattern string) *kindCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = make(map[string]*kindCounts)
	}
	c := t.counts[pattern]
	if c == nil {
		c = &kindCounts{}
		t.counts[pattern] = c
	}
	return c
}

// all returns the counters in the order of the patterns.
func (t *kindTable) all() iter.Seq2[string, *kindCounts] {
	t.mu.Lock()
	counts := maps.Clone(t.counts)
	t.mu.Unlock()
	return func(yield func(string, *kindCounts) bool) {
		for _, pattern := range slices.Sorted(maps.Keys(counts)) {
			if !yield(pattern, counts[pattern]) {
				return
			}
		}
	}
}

const (
	// sweepEvery is the pause between two sweeps: looks at all rows within the lead, in place
	// of the rows behind the watermark only.
	sweepEvery = 5 * time.Second

	// doubtEvery is sweepEvery after a call that failed and may have stored entries. No Work
	// was notified of them.
	doubtEvery = 500 * time.Millisecond
)

// sweep is the request for a sweep. A role requests one when it has dropped a row that the database
// still has, or when the database has stored a row before the watermark.
type sweep struct {
	look      chan struct{} // wakes the fetcher; one element means look
	wanted    atomic.Bool   // rows before the watermark may be new
	unplanned atomic.Bool   // a leased row was dropped, and another worker may be able to claim it
}

// want makes a later look a sweep.
func (s *sweep) want() { s.wanted.Store(true) }

// wantNow makes the fetcher sweep now.
func (s *sweep) wantNow() {
	s.want()
	request(s.look)
}

// request wakes a goroutine that receives from c, now or later.
func request(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // already requested
	}
}
