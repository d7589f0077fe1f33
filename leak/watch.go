package leak

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Ground rules: the list is replaced, never changed, so Track reads it without
// a lock. Lock order: Scope.mu before watchMu.

var (
	// watching lists the scopes that count what all detectors track; nil if
	// there are none. Atomic: written under watchMu, read by every Track.
	watching atomic.Pointer[[]*Scope]
	watchMu  sync.Mutex
)

func watch(s *Scope) {
	watchMu.Lock()
	defer watchMu.Unlock()
	scopes := append(slices.Clone(watched()), s)
	watching.Store(&scopes)
}

func unwatch(s *Scope) {
	watchMu.Lock()
	defer watchMu.Unlock()
	scopes := slices.DeleteFunc(slices.Clone(watched()), func(other *Scope) bool { return other == s })
	if len(scopes) == 0 {
		watching.Store(nil)
		return
	}
	watching.Store(&scopes)
}

// watched returns the scopes that count everything.
func watched() []*Scope {
	if scopes := watching.Load(); scopes != nil {
		return *scopes
	}
	return nil
}

// scopes returns what counts the resources of this detector. A scope may be in
// it twice: entering and leaving again change nothing.
func (c *core) scopes() []*Scope {
	if c.scope == nil {
		return watched()
	}
	return append([]*Scope{c.scope}, watched()...)
}
