// Package engines puts every timer that is compared behind one interface: ours
// and the rivals', each with an adapter in a file of its own.
package engines

import (
	"fmt"
	"slices"
	"time"
)

// Handle is what an engine gives for one timeout: its own handle, or a key. A
// pointer in it costs no allocation.
type Handle any

// Engine is one running timer. It ends with the process that measures it.
type Engine interface {
	// Schedule lets f run once, delay from now.
	Schedule(delay time.Duration, f func()) Handle

	// Cancel takes a timeout back. What it returns counts only if the engine
	// gives a verdict.
	Cancel(Handle) bool

	// Reset moves a pending timeout to delay from now, and returns its handle
	// from now on. Engines that have no such thing cancel, and schedule f anew.
	Reset(h Handle, delay time.Duration, f func()) Handle
}

// Kind describes an engine: what it is and what it can do.
type Kind struct {
	Name    string        `json:"name"`              // as in --engines, tables and plots
	Package string        `json:"package"`           // import path, or what else it is
	Version string        `json:"version,omitempty"` // empty for ours and for the standard library's
	Setting string        `json:"setting"`           // how it was made
	Ours    bool          `json:"ours,omitempty"`
	Foreign bool          `json:"foreign,omitempty"` // not in Go: measured by a harness of its own
	Resets  bool          `json:"resets,omitempty"`  // has a reset, or a move
	Verdict bool          `json:"verdict,omitempty"` // a cancel tells whether it came in time
	Slow    bool          `json:"slow,omitempty"`    // takes up to a minute to be filled with ten million
	Tick    time.Duration `json:"tick,omitempty"`

	// New makes a running timer. Nil for foreign engines.
	New func() (Engine, error) `json:"-"`
}

// All returns every engine, ours first; the first is the one that the others
// are compared with.
func All() []Kind {
	return []Kind{
		hashedWheelKind, hierarchicalKind, runtimeTimerKind, afterFuncKind, russellLuoKind, antlabsKind,
		rfyiamcoolKind, ouqiangKind, goZeroKind, nettyKind,
	}
}

// Find returns the engine of that name.
func Find(name string) (Kind, error) {
	all := All()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, fmt.Errorf("no engine %q (known: %v)", name, Names(all))
	}
	return all[i], nil
}

// Names returns the names of kinds.
func Names(kinds []Kind) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return names
}

// The setting of the wheels whose tick and length can be chosen.
const (
	fineTick  = time.Millisecond
	fineTicks = 8192
)
