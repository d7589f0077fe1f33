package durable

import (
	"time"

	"github.com/hashedwheel/hwt/hashedwheel"
)

// newWheel returns the wheel that keeps the last seconds of the timers of one
// Work. One rotation is 16 s, longer than the usual lead.
func newWheel() (*hashedwheel.Timer, error) {
	return hashedwheel.New(&hashedwheel.Options{
		TickDuration:         time.Millisecond,
		TicksPerWheel:        1 << 14,
		Name:                 "durable",
		SlowTaskThreshold:    -1,   // a task sends a request, which may wait for the connection
		DisableLeakDetection: true, // Work stops it.
	})
}
