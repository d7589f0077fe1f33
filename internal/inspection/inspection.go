// Package inspection gives package inspect views of the engines' wheels, and the
// last reports of package leak. An engine registers a function that recognizes its
// timers. A timer of another implementation, such as a wrapper, has no view.
package inspection

import (
	"time"

	"github.com/hashedwheel/hwt"
)

// Batch is the maximum number of chunks that a view counts while it holds a lock.
const Batch = 1024

// View looks into a timer. Its methods are safe for concurrent use.
type View interface {
	// Name returns the timer's name in the log.
	Name() string

	// Workers returns the workers of a timer that has wheels.
	Workers() []Worker
}

// Worker looks into one worker's wheel or hierarchy of wheels.
type Worker interface {
	// Rings returns the rings of buckets, the finest first. It returns nil for a stopped
	// timer.
	Rings() []Ring

	// Count calls add with the number of timeouts in a bucket of a ring of Rings, in any order
	// and possibly several times per bucket. A timeout that is added or moved during the count
	// may be missed or counted twice. Count drains the intake of a sleeping worker first. It
	// does not count timeouts in the intake of another.
	//
	// It takes O(n/13) time for n pending timeouts, and holds the worker's lock for at
	// most a Batch of chunks per call.
	Count(add func(ring, bucket, n int))
}

// Ring is a snapshot of a wheel.
type Ring struct {
	Buckets int           // number of buckets
	Span    time.Duration // the time that a bucket covers
	Hand    int           // the current bucket
	Turned  time.Duration // progress of the hand within its bucket, less than Span
}

// Recognize returns the view of a timer, and false for a timer of another type.
type Recognize func(hwt.Timer) (View, bool)

// recognizers belong to the engines in the program. Package initialization registers them, one
// after another.
var recognizers []Recognize

// Register makes the timers of an engine visible. Call Register to initialize a package
// variable; the result is true.
func Register(r Recognize) bool {
	recognizers = append(recognizers, r)
	return true
}

// Of returns the view of a timer, and false if no engine recognizes it.
func Of(timer hwt.Timer) (View, bool) {
	for _, recognize := range recognizers {
		if v, ok := recognize(timer); ok {
			return v, true
		}
	}
	return nil, false
}
