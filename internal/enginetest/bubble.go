// Package enginetest helps to test engines and packages that use them. enginetest imports
// only the standard library, for use in package hwttest.
package enginetest

import (
	"runtime"
	"testing"
	"testing/synctest"
)

// Bubble is [synctest.Test] for tests of timers.
//
// Under the race detector, Bubble uses one processor. As of Go 1.26, many time.AfterFunc in
// a bubble corrupt the detector's state while other processors run, which sometimes crashes
// the process. The races found do not depend on the number of processors.
func Bubble(t *testing.T, run func(t *testing.T)) {
	if RaceDetector {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	synctest.Test(t, run)
}
