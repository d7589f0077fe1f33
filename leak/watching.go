package leak

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Ground rules: the list of scopes is replaced, never modified, so Track reads the list
// without a lock. Lock order: Scope.mu before watchMu.

var (
	// watching is the list of the scopes that count the resources of all detectors.
	// watching is nil if empty. Atomic: written under watchMu, read by every Track.
	watching atomic.Pointer[[]*Scope]
	watchMu  sync.Mutex
)

func watch(s *Scope) {
	watchMu.Lock()
	defer watchMu.Unlock()
	scopes := append(slices.Clone(watchers()), s)
	watching.Store(&scopes)
}

func unwatch(s *Scope) {
	watchMu.Lock()
	defer watchMu.Unlock()
	scopes := slices.DeleteFunc(slices.Clone(watchers()), func(other *Scope) bool { return other == s })
	if len(scopes) == 0 {
		watching.Store(nil)
		return
	}
	watching.Store(&scopes)
}

// watchers returns the scopes that count the resources of all detectors.
func watchers() []*Scope {
	if scopes := watching.Load(); scopes != nil {
		return *scopes
	}
	return nil
}

// scopes returns the scopes that count the resources of this detector. A scope may appear
// twice, which is harmless.
func (c *core) scopes() []*Scope {
	if c.options.Scope == nil {
		return watchers()
	}
	return append([]*Scope{c.options.Scope}, watchers()...)
}
