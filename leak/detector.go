// Ported to Go from ResourceLeakDetector of the Netty Project, and changed.
// Copyright 2013 The Netty Project. Apache License 2.0; see NOTICE.

package leak

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
)

// Detector tracks resources of one type and reports those that were garbage-collected
// without a release. One detector serves a whole process. All methods are safe for
// concurrent use and never block.
//
// Detector is a port of Netty's ResourceLeakDetector.
type Detector[T any] struct {
	core core
}

// core is the part of a detector that is independent of the resource type. Trackers refer
// to a core.
type core struct {
	resourceType string  // Immutable after NewDetector.
	options      Options // Immutable after NewDetector.

	leaks      atomic.Int64 // Atomic: written by leaked, read by Stats.
	duplicates atomic.Int64 // Atomic: written by leaked, read by Stats.

	mu       sync.Mutex
	reported map[uint64]struct{} // hashes of the delivered reports. Guarded by mu.
}

// NewDetector returns a detector. Reports call the resources resourceType, for example
// "pool.Conn". Nil options mean the defaults.
//
// NewDetector returns no error, so that a detector can be a package-level variable.
// NewDetector panics if an option is out of range.
func NewDetector[T any](resourceType string, options *Options) *Detector[T] {
	d := &Detector[T]{core: core{resourceType: resourceType}}
	if options != nil {
		d.core.options = *options
	}
	if err := d.core.options.check(); err != nil {
		panic(err)
	}
	return d
}

// Track starts watching resource if the level and the sampling choose the resource, and returns
// a Tracker. The Tracker does not refer to the resource. Track returns nil if the resource is
// nil or was not chosen.
//
// Go must have allocated the resource. The type should be larger than 16 bytes or contain a
// pointer: the runtime may batch smaller values and collect them late or never. A
// package-level variable never leaks.
//
// A resource that is not chosen costs a random number and no allocation. A chosen
// resource costs a captured stack, a cleanup, and a few allocations.
func (d *Detector[T]) Track(resource *T) *Tracker {
	if d.core.off() {
		return nil
	}
	return d.track(resource)
}

// track is Track if a resource may be tracked.
func (d *Detector[T]) track(resource *T) *Tracker {
	level, scopes := currentLevel(), d.core.scopes()
	chosen := d.core.chooses(level)
	if resource == nil || !chosen && len(scopes) == 0 {
		return nil
	}
	t := &Tracker{core: &d.core, detailed: level >= LevelAdvanced, scopes: scopes, created: capture(2)}
	if chosen {
		t.cleanup = runtime.AddCleanup(resource, collected, t)
	}
	for _, s := range scopes {
		s.enter(t)
	}
	runtime.KeepAlive(resource) // t must be complete before resource can be collected
	return t
}

// off reports whether no resource is tracked.
func (c *core) off() bool {
	return currentLevel() == LevelDisabled && c.options.Scope == nil && watching.Load() == nil
}

// chooses reports whether to watch the collection of the next resource.
func (c *core) chooses(level Level) bool {
	switch {
	case level == LevelDisabled:
		return false
	case level == LevelParanoid:
		return true
	default:
		return rand.IntN(c.samplingInterval()) == 0
	}
}

// The environment is read only if the option is not set.

func (c *core) samplingInterval() int {
	if n := c.options.SamplingInterval; n != 0 {
		return n
	}
	return environment().samplingInterval
}

func (c *core) targetRecords() int {
	if n := c.options.TargetRecords; n != 0 {
		return n
	}
	return environment().targetRecords
}
