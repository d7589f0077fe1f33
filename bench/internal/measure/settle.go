package measure

import (
	"time"

	"github.com/hashedwheel/hwt/bench/internal/proc"
)

const (
	// look is how long the process is looked at to find it quiet.
	look = 25 * time.Millisecond

	// quiet is the CPU time that a process uses within look when nothing but an
	// engine's ticking is left to do: 4 % of a core.
	quiet = time.Millisecond
)

// settle waits until the engine has done what callers handed it, n operations,
// and the collector what it was at: until the process is quiet. An engine that
// never is gets as long as the slowest takes.
func settle(n int) {
	end := time.Now().Add(200*time.Millisecond + time.Duration(n)*time.Microsecond)
	for still := 0; still < 2 && time.Now().Before(end); {
		before := proc.Now()
		time.Sleep(look)
		if proc.Now().Sub(before).CPU <= quiet {
			still++
		} else {
			still = 0
		}
	}
}
