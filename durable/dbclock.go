package durable

import (
	"context"
	"sync"
	"time"
)

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
