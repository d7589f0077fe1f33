// Package engines has adapters that put all compared timers behind one interface.
package engines

import (
	"fmt"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// Handle is an engine's handle of one timeout, or a key. A pointer in it is not allocated.
type Handle any

// Engine is one running timer. It ends with the process that measures it.
type Engine interface {
	// Schedule runs f once, delay from now.
	Schedule(delay time.Duration, f func()) Handle

	// Cancel prevents f from running. The result means something only with Kind.Verdict.
	Cancel(Handle) bool

	// Reset moves a pending timeout to delay from now and returns its new handle.
	// Engines without a reset cancel and schedule f again.
	Reset(h Handle, delay time.Duration, f func()) Handle
}

// Kind describes an engine.
type Kind struct {
	Name    string        `json:"name"`              // as in -engines, tables, and the plot
	Package string        `json:"package"`           // import path, or the name in another language
	Version string        `json:"version,omitempty"` // with its date; empty for ours and the standard library's. Set by a run.
	Newer   string        `json:"newer,omitempty"`   // a design that the version does not have yet
	Setting string        `json:"setting"`           // configuration
	Each    bool          `json:"each,omitempty"`    // each task has its own goroutine
	Ours    bool          `json:"ours,omitempty"`
	Floor   bool          `json:"floor,omitempty"`   // no timer, and no rival
	Foreign bool          `json:"foreign,omitempty"` // not in Go: measured by its own harness
	Verdict bool          `json:"verdict,omitempty"` // a cancel reports whether it was in time
	Tick    time.Duration `json:"tick,omitempty"`
	Only    []string      `json:"only,omitempty"`    // its measurements; empty: all
	Release string        `json:"release,omitempty"` // the Go release that builds its program; empty: that of the run

	// New makes a running timer. It is nil for foreign engines.
	New func() (Engine, error) `json:"-"`
}

// next is the Go release that a row of some engines is measured with.
const next = "go1.27.4"

// nextKind returns the kind, built with that release.
func nextKind(k Kind) Kind {
	k.Name, k.Setting, k.Release = k.Name+"+"+next, "with "+next, next
	k.Only = []string{spec.Cancel, spec.Expire, spec.Trickle, spec.Lone}
	return k
}

// All returns every engine, ours first. The first is the base of all ratios.
func All() []Kind { return slices.Concat(ours(), []Kind{floorKind}, rivals()) }

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

// The setting of wheels with a choice of tick and length.
const (
	fineTick  = time.Millisecond
	fineTicks = 8192
)
