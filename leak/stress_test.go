// Ported to Go from the tests of ResourceLeakDetector of the Netty Project, and changed.
// Copyright 2016 The Netty Project. Apache License 2.0; see NOTICE.

package leak_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/leak"
)

// TestConcurrentUseCausesNoFalseReport is Netty's test: goroutines create resources, use
// them, and pass them to other goroutines, which release them.
func TestConcurrentUseCausesNoFalseReport(t *testing.T) {
	const goroutines, each = 50, 100
	rounds := enginetest.Effort(1000, 50, 5)
	at(t, leak.LevelParanoid)
	d, reports := newSinkDetector()
	var notClosed atomic.Int64

	together(goroutines, func(int) {
		for range rounds {
			notClosed.Add(round(d, each))
		}
	})

	awaitCleanups(t)
	assert.Zero(t, notClosed.Load(), "Close returned false")
	assert.Empty(t, reports.all())
	assert.Zero(t, d.Stats())
}

// round creates n resources, releases half of them here and half on another goroutine, and
// returns the number of Closes that returned false.
func round(d *leak.Detector[resource], n int) (failed int64) {
	passed, done := make(chan *resource, n), make(chan int64)
	go func() {
		failed := int64(0)
		for r := range passed {
			failed += release(r)
		}
		done <- failed
	}()
	for i := range n {
		r := &resource{}
		r.tracker = d.Track(r)
		if r.tracker.Record("made"); i%2 == 0 {
			passed <- r
			continue
		}
		failed += release(r)
	}
	close(passed)
	return failed + <-done
}

func release(r *resource) int64 {
	r.tracker.Record("releasing")
	if !r.close() || r.tracker.Close() {
		return 1
	}
	return 0
}
