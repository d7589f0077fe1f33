package enginekit

import "github.com/hashedwheel/hwt"

// FindEnded returns the channel that is closed when a timer stops, and false for a timer of
// another type.
type FindEnded func(hwt.Timer) (<-chan struct{}, bool)

// finders belong to the engines in the program. Package initialization, which is
// sequential, registers them.
var finders []FindEnded

// RegisterEnded makes the stop of an engine's timers visible. Call it to initialize a
// package variable; it returns true.
func RegisterEnded(find FindEnded) bool {
	finders = append(finders, find)
	return true
}

// Ended returns a channel that is closed when timer stops, and false if no engine knows
// the timer, as with a wrapper.
func Ended(timer hwt.Timer) (<-chan struct{}, bool) {
	for _, find := range finders {
		if ended, ok := find(timer); ok {
			return ended, true
		}
	}
	return nil, false
}
