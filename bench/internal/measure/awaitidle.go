package measure

import (
	"time"

	"github.com/hashedwheel/hwt/bench/internal/proc"
)

const (
	// look is the time for which the process must be quiet.
	look = 25 * time.Millisecond

	// quiet is the CPU time within look that counts as quiet: 4 % of a core.
	quiet = time.Millisecond
)

// awaitIdle waits until the engine has processed n operations and the collector has
// finished: until the process uses no more CPU time within look than idle, its constant
// use. It waits no longer than the slowest engine needs.
func awaitIdle(n int, idle time.Duration) {
	end := time.Now().Add(200*time.Millisecond + time.Duration(n)*time.Microsecond)
	for still := 0; still < 2 && time.Now().Before(end); {
		if used() <= idle+max(quiet, idle/10) {
			still++
		} else {
			still = 0
		}
	}
}

// used returns the CPU time of the process within look.
func used() time.Duration {
	before := proc.Now()
	time.Sleep(look)
	return proc.Now().Sub(before).CPU
}
