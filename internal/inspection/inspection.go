// Package inspection is how package inspect looks into the engines of this module.
// An engine registers a function that recognizes its timers; a timer of users' own,
// one that wraps an engine for example, has no view.
package inspection

import (
	"time"

	"github.com/hashedwheel/hwt"
)

// Batch is how many chunks of buckets a view counts at most while it holds a lock.
const Batch = 1024

// View looks into a timer. Its methods are safe for concurrent use.
type View interface {
	// Name returns the name that the timer's log has.
	Name() string

	// Workers returns the parts of the timer that have a wheel each; none if it has
	// no wheels.
	Workers() []Worker
}

// Worker looks into one wheel, or hierarchy of wheels, and the worker it belongs to.
type Worker interface {
	// Rings returns the rings of buckets as they are, the finest first; none if the
	// timer was stopped. Count is zero in each bucket.
	Rings() []Ring

	// Count calls add with how many timeouts wait in which bucket of which ring of
	// Rings, in no order and more than once for a bucket. What is added or moves meanwhile may
	// be missing or count twice, and what has not reached the wheel is missing. It
	// takes time in the number pending, divided by 13, and holds the worker's lock
	// for at most a Batch of chunks at a time.
	Count(add func(ring, bucket, n int))
}

// Ring is a wheel as it is at one time.
type Ring struct {
	Buckets int           // how many there are
	Span    time.Duration // the time that a bucket stands for
	Hand    int           // the current bucket
	Turned  time.Duration // how far the hand is in its bucket, less than Span
}

// Recognize returns the view of a timer, and false if it is of another kind.
type Recognize func(hwt.Timer) (View, bool)

// recognizers are those of the engines in this program. They register while the
// program's packages are initialized, one after another.
var recognizers []Recognize

// Register makes the timers of an engine visible. It is for variables of packages,
// and returns true so that it can initialize one.
func Register(r Recognize) bool {
	recognizers = append(recognizers, r)
	return true
}

// Of returns the view of a timer, and false if it has none.
func Of(timer hwt.Timer) (View, bool) {
	for _, recognize := range recognizers {
		if v, ok := recognize(timer); ok {
			return v, true
		}
	}
	return nil, false
}
