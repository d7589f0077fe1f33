package leak

import (
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
)

// Ground rules of a core.
//
// leaked runs on goroutines of the runtime, outside of any bubble and several at
// a time. So it waits for nothing but mu, which is held for a map access and
// never while code of others runs; and nothing it calls may panic out of it,
// because that would end the process.

// core is the part of a detector that does not depend on the type of its
// resources; the trackers refer to it.
type core struct {
	resourceType     string       // Immutable after NewDetector.
	release          string       // the method that releases. Immutable after NewDetector.
	listener         func(Report) // nil: log. Immutable after NewDetector.
	logger           *slog.Logger // nil: slog.Default(). Immutable after NewDetector.
	scope            *Scope       // may be nil. Immutable after NewDetector.
	targetRecords    int          // 0: as the environment says. Immutable after NewDetector.
	samplingInterval int          // 0: as the environment says. Immutable after NewDetector.

	leaks      atomic.Int64 // Atomic: written by leaked, read by Stats.
	duplicates atomic.Int64 // Atomic: written by leaked, read by Stats.

	mu       sync.Mutex
	reported map[uint64]struct{} // hashes of the texts told, which are long. Guarded by mu.
}

// Stats is what a detector has found so far.
type Stats struct {
	Leaked     int64 // resources collected before they were released
	Duplicates int64 // those of Leaked that were not reported, because their text had been before
}

// Stats returns the counts of what the detector has found. They are read one
// after another.
func (d *Detector[T]) Stats() Stats {
	return Stats{Leaked: d.core.leaks.Load(), Duplicates: d.core.duplicates.Load()}
}

var seed = maphash.MakeSeed()

// leaked counts a leak, and reports it if its text is new.
func (c *core) leaked(r Report) {
	c.leaks.Add(1)
	if !c.isNew(r.String()) {
		c.duplicates.Add(1)
		return
	}
	c.deliver(r)
}

func (c *core) isNew(text string) bool {
	hash := maphash.String(seed, text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.reported[hash]; known {
		return false
	}
	if c.reported == nil {
		c.reported = make(map[uint64]struct{})
	}
	c.reported[hash] = struct{}{}
	return true
}

// deliver hands r to the listener, or to the log if there is none or it panics.
func (c *core) deliver(r Report) {
	if c.listener == nil {
		c.log(r.String())
		return
	}
	defer func() {
		if v := recover(); v != nil {
			c.log(r.String())
			c.log("leak: listener panicked", "panic", textOf(v))
		}
	}()
	c.listener(r)
}

// log logs, and survives a handler that panics: there is nobody left to tell.
func (c *core) log(message string, args ...any) {
	defer func() { _ = recover() }()
	logger := c.logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.Error(message, append(args, "resource", c.resourceType)...)
}
