package measure

import (
	"math/rand/v2"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
)

// far returns the delays of background timeouts, between 30 and 90 minutes. They
// are the same in every process.
func far() func() time.Duration {
	r := rand.New(rand.NewPCG(1, 2))
	return func() time.Duration { return 30*time.Minute + time.Duration(r.Int64N(int64(time.Hour))) }
}

// fill schedules n far timeouts, and waits until the engine has them.
func fill(e engines.Engine, n int) {
	next := far()
	for range n {
		e.Schedule(next(), nop)
	}
	wait(n)
}

// fillAndHold is fill, with the handles.
func fillAndHold(e engines.Engine, n int) []engines.Handle {
	next := far()
	handles := make([]engines.Handle, n)
	for i := range handles {
		handles[i] = e.Schedule(next(), nop)
	}
	wait(n)
	return handles
}

// wait gives an engine the time to file n new timeouts: one of ours and Netty
// take 100,000 a tick.
func wait(n int) {
	time.Sleep(100*time.Millisecond + time.Duration(n)*250*time.Nanosecond)
}
