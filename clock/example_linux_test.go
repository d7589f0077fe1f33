package clock_test

import (
	"fmt"
	"time"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// A laptop is closed for an hour. A lock that is to open after half an hour opens when the
// laptop wakes, not half an hour of work later.
func ExampleOptions_countSuspension() {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	defer timer.Stop()
	c, err := clock.New(timer, &clock.Options{CountSuspension: true})
	if err != nil {
		panic(err) // The system is not Linux.
	}
	opened := make(chan string)
	lock := c.AfterFunc(30*time.Minute, func() { opened <- "open" })
	lock.Reset(20 * time.Millisecond)
	fmt.Println(<-opened)
	// Output: open
}
