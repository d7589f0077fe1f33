// Package engines has every timer that is compared behind one interface: ours and the
// rivals', each with an adapter in a file of its own.
package engines

import (
	"fmt"
	"slices"
	"time"
)

// Handle is an engine's handle of one timeout, or a key. A pointer in it costs no
// allocation.
type Handle any

// Engine is one running timer. It ends with the process that measures it.
type Engine interface {
	// Schedule runs f once, delay from now.
	Schedule(delay time.Duration, f func()) Handle

	// Cancel prevents f from running. The result is meaningful only if Kind.Verdict
	// is set.
	Cancel(Handle) bool

	// Reset moves a pending timeout to delay from now, and returns its handle from now
	// on. Engines without a reset cancel, and schedule f anew.
	Reset(h Handle, delay time.Duration, f func()) Handle
}

// Kind describes an engine.
type Kind struct {
	Name    string        `json:"name"`              // as in --engines, tables and plots
	Package string        `json:"package"`           // import path, or its name elsewhere
	Version string        `json:"version,omitempty"` // empty for ours and for the standard library's
	Setting string        `json:"setting"`           // how it was made
	Tasks   string        `json:"tasks"`             // where tasks run
	Ours    bool          `json:"ours,omitempty"`
	Foreign bool          `json:"foreign,omitempty"` // not in Go: measured by a harness of its own
	Resets  bool          `json:"resets,omitempty"`  // has a reset, or a move
	Verdict bool          `json:"verdict,omitempty"` // a cancel returns whether it came in time
	Slow    bool          `json:"slow,omitempty"`    // takes up to a minute to schedule ten million
	Tick    time.Duration `json:"tick,omitempty"`
	Only    []string      `json:"only,omitempty"`  // the measurements that it takes part in; empty: all
	Fixed   bool          `json:"fixed,omitempty"` // its tick cannot be chosen

	// New makes a running timer with a tick, if it has one that can be chosen. Nil
	// for foreign engines.
	New func(tick time.Duration) (Engine, error) `json:"-"`
}

// GoroutineEach reports whether each task gets a goroutine.
func (k Kind) GoroutineEach() bool { return k.Tasks == goroutineEach }

// Where tasks run.
const (
	onWorker      = "on the worker, one by one"
	goroutineEach = "a goroutine each"
)

// All returns every engine, ours first; the first is the one that the others
// are compared with.
func All() []Kind {
	return []Kind{
		hashedWheelKind, twoWorkersKind, goroutinesKind, hierarchicalKind, runtimeTimerKind, afterFuncKind, russellLuoKind, antlabsKind,
		rfyiamcoolKind, ouqiangKind, goZeroKind, nettyKind, tokioKind,
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

// The setting of wheels whose tick and length can be chosen.
const (
	fineTick  = time.Millisecond
	fineTicks = 8192
)
