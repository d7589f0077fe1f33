// Package wheeltest runs the tests of the drop-in packages on a wheel.
package wheeltest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/dropin"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// wheel is the timer that the drop-in packages use. Immutable while tests run.
var wheel hwt.Engine

// Main runs the tests of m on a wheel with a tick of 1 ms and exits. It fails if a test
// leaves a goroutine behind.
func Main(m *testing.M) {
	var err error
	wheel, err = hashedwheel.New(&hashedwheel.Options{TickDuration: time.Millisecond})
	if err != nil {
		panic(err)
	}
	if err := dropin.Use(wheel, time.Millisecond); err != nil {
		panic(err)
	}
	code := m.Run()
	wheel.Stop()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Pending returns the number of timeouts with a deadline in half an hour or later. It
// ignores earlier ones, because an unstoppable ticker of an earlier test may expire
// at any moment.
func Pending() (n int) {
	for timeout := range wheel.All() {
		if time.Until(timeout.Deadline()) >= time.Hour/2 {
			n++
		}
	}
	return n
}
