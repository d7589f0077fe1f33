// Package enginetest helps to test engines and packages that use them. It imports
// only the standard library, so that package hwttest can use it.
package enginetest

import (
	"runtime"
	"testing"
	"testing/synctest"
)

// Bubble is [synctest.Test] for tests of timers.
//
// Under the race detector it uses one processor. As of Go 1.26, many time.AfterFunc
// in a bubble corrupt the detector's state while other processors run, which
// sometimes crashes the process. The races that it finds do not depend on the
// number of processors.
func Bubble(t *testing.T, run func(t *testing.T)) {
	if RaceDetector {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	synctest.Test(t, run)
}
