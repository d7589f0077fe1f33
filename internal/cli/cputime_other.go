//go:build !unix

package cli

import "time"

// CPUTime returns false, because this system does not report processor time.
func CPUTime() (used time.Duration, ok bool) { return 0, false }
