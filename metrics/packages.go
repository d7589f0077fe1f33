package metrics

import (
	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/internal/check"
	"github.com/hashedwheel/hwt/keyed"
	"github.com/hashedwheel/hwt/leak"
)

// Keyed returns the metrics of a *[keyed.Wheel].
func Keyed(wheel interface{ Stats() keyed.Stats }) Source {
	return newSource(wheel, []metric[keyed.Stats]{
		gauge("keyed.pending", "{pair}", "Pending pairs", func(s keyed.Stats) int64 { return s.Pending }),
		counter("keyed.fired", "{pair}", "Pairs that expired", func(s keyed.Stats) int64 { return s.Fired }),
		counter("keyed.drained", "{pair}", "Pairs removed by Drain", func(s keyed.Stats) int64 { return s.Drained }),
		counter("keyed.cancelled", "{pair}", "Pairs cancelled by Close", func(s keyed.Stats) int64 { return s.Cancelled }),
	})
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
	if check.IsNil(c) {
		return nil
	}
	return source[snapshot]{func() snapshot { return snapshot{c.Stats(), c.Len()} }, []metric[snapshot]{
		gauge("cache.entries", "{entry}", "Entries in the cache", func(s snapshot) int64 { return int64(s.entries) }),
		counter("cache.hits", "{lookup}", "Lookups that found an entry", func(s snapshot) int64 { return s.Hits }),
		counter("cache.misses", "{lookup}", "Lookups that found no entry", func(s snapshot) int64 { return s.Misses }),
		counter("cache.evictions", "{entry}", "Entries evicted to make room", func(s snapshot) int64 { return s.Evictions }),
		counter("cache.expired", "{entry}", "Entries that expired", func(s snapshot) int64 { return s.Expirations }),
	}}
}

// Idle returns the metrics of a *[idle.Reaper].
func Idle(reaper interface{ Stats() idle.Stats }) Source {
	return newSource(reaper, []metric[idle.Stats]{
		gauge("idle.watched", "{connection}", "Active watches and connections", func(s idle.Stats) int64 { return s.Watched }),
		counter("idle.accepted", "{connection}", "Watches and connections started", func(s idle.Stats) int64 { return s.Accepted }),
		counter("idle.idle", "{connection}", "Watches and connections closed because they were idle", func(s idle.Stats) int64 { return s.Idle }),
		counter("idle.too_old", "{connection}", "Watches and connections closed at their maximum age", func(s idle.Stats) int64 { return s.TooOld }),
		counter("idle.stopped", "{connection}", "Watches and connections stopped or closed by the program", func(s idle.Stats) int64 { return s.Stopped }),
		counter("idle.dropped", "{connection}", "Watches and connections that ended because the reaper was closed or the timer stopped", func(s idle.Stats) int64 { return s.Dropped }),
		gauge("idle.closing", "{connection}", "Connections that the reaper is about to close or closing", func(s idle.Stats) int64 { return s.Closing }),
		counter("idle.panics", "{panic}", "Callbacks that panicked or ended their goroutine", func(s idle.Stats) int64 { return s.Panics }),
		counter("idle.fallback_timers", "{timer}", "Runtime timers that replaced rejected timeouts", func(s idle.Stats) int64 { return s.FallbackTimers }),
	})
}

// Clock returns the metrics of a *[clock.Clock].
func Clock(c interface{ Stats() clock.Stats }) Source {
	return newSource(c, []metric[clock.Stats]{
		counter("clock.failures", "{call}", "Calls that panicked, ended their goroutine or returned an error", func(s clock.Stats) int64 { return s.Failures }),
		counter("clock.fallback_timers", "{timer}", "Runtime timers that replaced rejected timeouts", func(s clock.Stats) int64 { return s.FallbackTimers }),
	})
}

// Leak returns the metrics of a *[leak.Detector].
func Leak(detector interface{ Stats() leak.Stats }) Source {
	return newSource(detector, []metric[leak.Stats]{
		counter("leak.leaked", "{resource}", "Resources collected before they were released", func(s leak.Stats) int64 { return s.Leaked }),
		counter("leak.duplicates", "{leak}", "Leaks with the same report as an earlier one", func(s leak.Stats) int64 { return s.Duplicates }),
	})
}
