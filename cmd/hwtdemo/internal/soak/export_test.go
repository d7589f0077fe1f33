package soak

import "time"

// SetPatience sets how long a round waits for its last tasks, and returns what
// sets it back.
func SetPatience(d time.Duration) (reset func()) {
	before := patience
	patience = d
	return func() { patience = before }
}
