package leak

import (
	"math/rand/v2"
	"runtime"
)

// Detector tracks resources of one type and reports those that were
// garbage-collected before they were released. One detector serves a whole
// process. All methods are safe for concurrent use and never block.
//
// It is the port of Netty's ResourceLeakDetector.
type Detector[T any] struct {
	core core
}

// NewDetector returns a detector of resources that reports call resourceType,
// as in "pool.Conn". It starts nothing. A nil option changes nothing.
func NewDetector[T any](resourceType string, options ...Option) *Detector[T] {
	d := &Detector[T]{core: core{resourceType: resourceType, release: "Close"}}
	for _, option := range options {
		if option != nil {
			option(&d.core)
		}
	}
	return d
}

// Track begins to watch resource, if the level and the sampling choose it, and
// returns its Tracker; nil if it was not chosen, or if resource is nil. Nothing
// that is returned refers to the resource.
//
// The resource must be memory that Go allocated, and its type should be larger
// than 16 bytes or hold a pointer; of smaller ones the runtime may batch several
// together and collect them late or never. A package-level variable never leaks.
//
// Not chosen, it costs about 30 ns and no allocation; chosen, about a
// microsecond, for the most part to capture the stack.
func (d *Detector[T]) Track(resource *T) *Tracker {
	if d.core.off() {
		return nil
	}
	return d.track(resource, false)
}

// TrackAlways is Track without the sampling: it returns nil only at Disabled.
// It is for resources that are few and costly to lose, such as a timer with its
// goroutine; Netty's HashedWheelTimer does the same with an interval of one.
func (d *Detector[T]) TrackAlways(resource *T) *Tracker {
	if d.core.off() {
		return nil
	}
	return d.track(resource, true)
}

func (d *Detector[T]) track(resource *T, always bool) *Tracker {
	level, scopes := GetLevel(), d.core.scopes()
	chosen := d.core.chooses(level, always)
	if resource == nil || !chosen && len(scopes) == 0 {
		return nil
	}
	t := &Tracker{core: &d.core, detailed: level >= Advanced, scopes: scopes, created: capture(2)}
	if chosen {
		t.cleanup = runtime.AddCleanup(resource, collected, t)
	}
	t.enter(scopes)
	runtime.KeepAlive(resource) // so that t is complete before it can be collected
	return t
}

// off reports whether there is nothing to do for any resource.
func (c *core) off() bool {
	return GetLevel() == Disabled && c.scope == nil && watching.Load() == nil
}

// chooses reports whether the collection of the next resource is to be watched.
func (c *core) chooses(level Level, always bool) bool {
	switch {
	case level == Disabled:
		return false
	case always || level == Paranoid:
		return true
	default:
		return rand.IntN(c.interval()) == 0
	}
}

// interval is the sampling interval, at least 1.
func (c *core) interval() int {
	if c.samplingInterval != 0 {
		return c.samplingInterval
	}
	return environment().samplingInterval
}

// target is the number of access records from which older ones give way.
func (c *core) target() int {
	if c.targetRecords != 0 {
		return c.targetRecords
	}
	return environment().targetRecords
}
