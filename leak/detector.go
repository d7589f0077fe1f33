// Ported to Go from ResourceLeakDetector of the Netty Project, and changed.
// Copyright 2013 The Netty Project. Apache License 2.0; see NOTICE.

package leak

import (
	"cmp"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
)

// Detector tracks resources of one type and reports those that were
// garbage-collected before they were released. One detector serves a whole
// process. All methods are safe for concurrent use and never block.
//
// It is a port of Netty's ResourceLeakDetector.
type Detector[T any] struct {
	core core
}

// core is the part of a detector that does not depend on the type of its
// resources. Trackers refer to it.
type core struct {
	resourceType string  // Immutable after NewDetector.
	options      Options // Immutable after NewDetector.

	leaks      atomic.Int64 // Atomic: written by leaked, read by Stats.
	duplicates atomic.Int64 // Atomic: written by leaked, read by Stats.

	mu       sync.Mutex
	reported map[uint64]struct{} // hashes of the reports delivered, whose texts are long. Guarded by mu.
}

// NewDetector returns a detector of the resources that reports name
// resourceType, as in "pool.Conn". Nil options mean the defaults.
//
// It returns no error, so that a detector can be a package-level variable. It
// panics if an option is outside its range.
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

// Track starts watching resource if the level and the sampling choose it, and
// returns its Tracker. It returns nil if the resource was not chosen, or is nil.
// Nothing that it returns refers to the resource.
//
// The resource must be memory that Go allocated. Its type should be larger than
// 16 bytes or contain a pointer: the runtime may batch smaller values and
// collect them late or never. A package-level variable never leaks.
//
// A resource that is not chosen costs a random number and no allocation. One
// that is chosen costs a captured stack, a cleanup and a few allocations.
func (d *Detector[T]) Track(resource *T) *Tracker {
	if d.core.off() {
		return nil
	}
	return d.track(resource, false)
}

// TrackAlways is Track without sampling: it returns nil only at [LevelDisabled].
// Use it for resources that are few and costly to lose, such as a timer with its
// goroutine. Netty's HashedWheelTimer does the same with an interval of 1.
func (d *Detector[T]) TrackAlways(resource *T) *Tracker {
	if d.core.off() {
		return nil
	}
	return d.track(resource, true)
}

func (d *Detector[T]) track(resource *T, always bool) *Tracker {
	level, scopes := currentLevel(), d.core.scopes()
	chosen := d.core.chooses(level, always)
	if resource == nil || !chosen && len(scopes) == 0 {
		return nil
	}
	t := &Tracker{core: &d.core, detailed: level >= LevelAdvanced, scopes: scopes, created: capture(2)}
	if chosen {
		t.cleanup = runtime.AddCleanup(resource, collected, t)
	}
	t.enter(scopes)
	runtime.KeepAlive(resource) // t must be complete before resource can be collected
	return t
}

// off reports whether there is nothing to do for any resource.
func (c *core) off() bool {
	return currentLevel() == LevelDisabled && c.options.Scope == nil && watching.Load() == nil
}

// chooses reports whether the collection of the next resource is to be watched.
func (c *core) chooses(level Level, always bool) bool {
	switch {
	case level == LevelDisabled:
		return false
	case always || level == LevelParanoid:
		return true
	default:
		return rand.IntN(c.samplingInterval()) == 0
	}
}

// The environment is read only where an option does not settle the matter.

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

func (c *core) releaseMethod() string { return cmp.Or(c.options.ReleaseMethod, "Close") }
