package measure

import (
	"time"

	"github.com/hashedwheel/hwt/bench/internal/proc"
)

const (
	// look is how long the process is looked at to find it quiet.
	look = 25 * time.Millisecond

	// quiet is the CPU time within look that is as good as none: 4 % of a core.
	quiet = time.Millisecond
)

// settle waits until the engine has done what callers handed it, n operations,
// and the collector what it was at: until the process uses no more CPU time
// within look than idle, which it uses all the time. It does not wait for longer
// than the slowest takes.
func settle(n int, idle time.Duration) {
	end := time.Now().Add(200*time.Millisecond + time.Duration(n)*time.Microsecond)
	for still := 0; still < 2 && time.Now().Before(end); {
		if used() <= idle+max(quiet, idle/10) {
			still++
		} else {
			still = 0
		}
	}
}

// used returns the CPU time that the process uses within look.
func used() time.Duration {
	before := proc.Now()
	time.Sleep(look)
	return proc.Now().Sub(before).CPU
}
