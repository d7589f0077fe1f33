//go:build !linux

package clock

import "time"

// bootTime returns false: it is not known for this system.
func bootTime() (time.Duration, bool) { return 0, false }
