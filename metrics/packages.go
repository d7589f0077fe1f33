package metrics

import (
	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/keyed"
	"github.com/hashedwheel/hwt/leak"
)

// Keyed returns the metrics of a *[keyed.Wheel].
func Keyed(wheel interface{ Stats() keyed.Stats }) Source {
	return source[keyed.Stats]{wheel.Stats, []metric[keyed.Stats]{
		gauge("keyed.pending", "Pairs that have not ended", func(s keyed.Stats) int64 { return int64(s.Pending) }),
		counter("keyed.fired", "Pairs that expired", func(s keyed.Stats) int64 { return s.Fired }),
		counter("keyed.drained", "Pairs that Drain removed", func(s keyed.Stats) int64 { return s.Drained }),
		counter("keyed.cancelled", "Pairs that Stop cancelled", func(s keyed.Stats) int64 { return s.Cancelled }),
	}}
}

// Cache returns the metrics of a *[cache.Cache].
func Cache(c interface {
	Stats() cache.Stats
	Len() int
}) Source {
	type snapshot struct {
		cache.Stats
		entries int
	}
	return source[snapshot]{func() snapshot { return snapshot{c.Stats(), c.Len()} }, []metric[snapshot]{
		gauge("cache.entries", "Entries in the cache", func(s snapshot) int64 { return int64(s.entries) }),
		counter("cache.hits", "Look-ups that found an entry", func(s snapshot) int64 { return s.Hits }),
		counter("cache.misses", "Look-ups that found none", func(s snapshot) int64 { return s.Misses }),
		counter("cache.evictions", "Entries that gave way to others", func(s snapshot) int64 { return s.Evictions }),
		counter("cache.expirations", "Entries that expired", func(s snapshot) int64 { return s.Expirations }),
	}}
}

// Idle returns the metrics of a *[idle.Reaper].
func Idle(reaper interface{ Stats() idle.Stats }) Source {
	return source[idle.Stats]{reaper.Stats, []metric[idle.Stats]{
		gauge("idle.watched", "Watches and connections that have not ended", func(s idle.Stats) int64 { return s.Watched }),
		counter("idle.accepted", "Watches and connections that were begun", func(s idle.Stats) int64 { return s.Accepted }),
		counter("idle.idle", "Watches and connections ended for being idle", func(s idle.Stats) int64 { return s.Idle }),
		counter("idle.too_old", "Watches and connections ended at their maximal age", func(s idle.Stats) int64 { return s.TooOld }),
		counter("idle.released", "Watches and connections ended by their users", func(s idle.Stats) int64 { return s.Released }),
		counter("idle.dropped", "Watches and connections ended because the reaper or the timer was stopped", func(s idle.Stats) int64 { return s.Dropped }),
		gauge("idle.closing", "Connections ended by the reaper and not closed yet", func(s idle.Stats) int64 { return s.Closing }),
		counter("idle.panics", "Calls of users' code that panicked or ended their goroutine", func(s idle.Stats) int64 { return s.Panics }),
		counter("idle.fallback_timers", "Timers of Go's that replaced a timeout that was refused", func(s idle.Stats) int64 { return s.FallbackTimers }),
	}}
}

// Clock returns the metrics of a *[clock.Clock].
func Clock(c interface{ Stats() clock.Stats }) Source {
	return source[clock.Stats]{c.Stats, []metric[clock.Stats]{
		counter("clock.failures", "Functions that panicked or ended their goroutine", func(s clock.Stats) int64 { return s.Failures }),
		counter("clock.fallback_timers", "Timers of Go's that replaced a timeout that was refused", func(s clock.Stats) int64 { return s.FallbackTimers }),
	}}
}

// Leak returns the metrics of a *[leak.Detector].
func Leak(detector interface{ Stats() leak.Stats }) Source {
	return source[leak.Stats]{detector.Stats, []metric[leak.Stats]{
		counter("leak.leaked", "Resources collected before they were released", func(s leak.Stats) int64 { return s.Leaked }),
		counter("leak.duplicates", "Leaks whose report reads like an earlier one", func(s leak.Stats) int64 { return s.Duplicates }),
	}}
}
