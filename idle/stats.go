package idle

// Stats is a snapshot of a reaper's counts since New. While no count changes,
//
//	Accepted = Watched + Idle + TooOld + Stopped + Dropped
type Stats struct {
	Accepted int64 // watches and connections started
	Watched  int64 // active watches and connections
	Idle     int64 // closed because they were idle
	TooOld   int64 // closed at their maximum age
	Stopped  int64 // ended by Stop, or by closing the connection
	Dropped  int64 // ended because the reaper was closed or the timer stopped

	Closing        int64 // ended by the reaper, but not closed yet
	Panics         int64 // calls of OnExpire and Close that panicked or ended their goroutine
	FallbackTimers int64 // runtime timers that replaced timeouts while the timer was at its pending limit
}

// counts is a shard's share of Stats.
type counts struct {
	accepted, idle, tooOld, stopped, dropped, fallbackTimers int64
}

// add counts a watch that the reaper ended.
func (c *counts) add(reason endReason) {
	if reason == endTooOld {
		c.tooOld++
	} else {
		c.idle++
	}
}

// Stats returns a snapshot of the reaper's counts. If Watched and Closing are 0, all
// closes have completed, except that a connection that carries TLS may take a second more. Stats takes each shard's lock in turn and does not slow
// down touches.
func (r *Reaper) Stats() Stats {
	s := Stats{}
	for i := range r.shards {
		r.shards[i].addTo(&s)
	}
	s.Watched = s.Accepted - s.Idle - s.TooOld - s.Stopped - s.Dropped
	s.Closing = r.closePool.pending() // after the shards: their ended watches are in the pool
	s.Panics = r.panics.Load()
	return s
}

func (s *shard) addTo(stats *Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats.Accepted += s.counts.accepted
	stats.Idle += s.counts.idle
	stats.TooOld += s.counts.tooOld
	stats.Stopped += s.counts.stopped
	stats.Dropped += s.counts.dropped
	stats.FallbackTimers += s.counts.fallbackTimers
}
