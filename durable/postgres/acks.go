package postgres

import (
	"slices"
	"sync"
	"time"
)

// acks are the last acknowledgements. Done commits asynchronously: a crash of the server loses
// the commits since the last flush of the log. The rows of the lost commits are claimed again, by
// a worker that has finished the rows. Without acks, such rows would stay claimed until the
// worker ends, and then fire again.
//
// The server flushes at least once in three wal_writer_delay. A failover to a standby that lags
// behind for no longer is the same to acks.
type acks struct {
	mu    sync.Mutex
	era   string        // last seen. Guarded by mu.
	keep  time.Duration // time until an acknowledgement is flushed. Guarded by mu.
	last  []ack         // in the order of their times. Guarded by mu.
	again func([]ack)   // takes over the acknowledgements that a server may have lost. Immutable.
}

// ack is a batch of acknowledgements.
type ack struct {
	at     time.Time
	worker int64
	refs   refs
}

// minKept covers the default of wal_writer_delay, 200 ms, on a machine that stalls.
const minKept = 3 * time.Second

// note keeps the acknowledgements of a batch, and drops those that are flushed.
func (a *acks) note(worker int64, r refs) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	flushed := 0
	for flushed < len(a.last) && now.Sub(a.last[flushed].at) > max(a.keep, minKept) {
		flushed++
	}
	a.last = append(slices.Delete(a.last, 0, flushed), ack{now, worker, r})
}

// arrive is called with the era of each connection before the store's first transaction on the
// connection, and with the server's wal_writer_delay.
func (a *acks) arrive(era string, flush time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keep = 4 * flush
	if a.era != "" && era != a.era {
		a.again(a.last)
		a.last = nil
	}
	a.era = era
}
