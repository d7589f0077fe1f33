//go:build !linux

package clock

import "time"

// bootTime returns false: the time is not known on this system.
func bootTime() (time.Duration, bool) { return 0, false }
