package leak_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/leak"
)

func TestCloseReturnsTrueOnce(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, _ := newSinkDetector()
	r := &resource{}
	r.tracker = d.Track(r)
	assert.True(t, r.close())
	assert.False(t, r.close())
	assert.False(t, r.tracker.Close())
}

func TestNilTrackerDoesNothing(t *testing.T) {
	var tracker *leak.Tracker
	tracker.Record("hint")
	assert.False(t, tracker.Detailed())
	assert.False(t, tracker.Close())
	assert.False(t, tracker.CloseFor(t))
}

func TestRecordAfterCloseIsNotKept(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, _ := newSinkDetector()
	r := &resource{}
	r.tracker = d.Track(r)
	r.tracker.Record("before")
	assert.True(t, r.close())
	r.tracker.Record("after")
	kept, _ := r.tracker.Kept()
	assert.Empty(t, kept)
}

func TestCloseForKeepsTheResourceReachable(t *testing.T) {
	at(t, leak.LevelDisabled)
	scope := leak.NewScope("held")
	d, _ := newSinkDetector(leak.Options{Scope: scope})
	made, closed := make(chan weak.Pointer[resource]), make(chan struct{})
	go func() {
		defer close(closed)
		makeAndClose(d, made)
	}()
	ref := <-made
	release := scope.Hold()
	made <- ref // continues to the Close, which waits for the scope
	awaitCleanups(t)
	assert.NotNil(t, ref.Value())
	release()
	<-closed
	collectUntil(t, func() bool { return ref.Value() == nil })
}

//go:noinline
func makeAndClose(d *leak.Detector[resource], made chan weak.Pointer[resource]) {
	r := &resource{}
	r.tracker = d.Track(r)
	made <- weak.Make(r)
	<-made
	r.tracker.CloseFor(r)
}

func TestClosedTrackerIsReleasedBeforeItsResource(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, _ := newSinkDetector()
	r := &resource{}
	tracker := trackAndClose(d, r)
	collectUntil(t, func() bool { return tracker.Value() == nil })
	runtime.KeepAlive(r)
}

//go:noinline
func trackAndClose(d *leak.Detector[resource], r *resource) weak.Pointer[leak.Tracker] {
	tracker := d.Track(r)
	tracker.CloseFor(r)
	return weak.Make(tracker)
}

func TestOneOfManyRacingClosesReturnsTrue(t *testing.T) {
	at(t, leak.LevelParanoid)
	atProcs(t, func(t *testing.T) {
		d, reports := newSinkDetector()
		for range 200 {
			r := &resource{}
			r.tracker = d.Track(r)
			var closed atomic.Int64
			together(8, func(int) {
				r.tracker.Record("racing")
				if r.close() {
					closed.Add(1)
				}
			})
			assert.EqualValues(t, 1, closed.Load())
		}
		awaitCleanups(t)
		assert.Empty(t, reports.all())
	})
}

func TestCloseThatRacesWithTheCollectorEndsOneWay(t *testing.T) {
	at(t, leak.LevelParanoid)
	atProcs(t, func(t *testing.T) {
		d, _ := newSinkDetector()
		const rounds, each = 20, 50
		closed := int64(0)
		for range rounds {
			trackers := make([]*leak.Tracker, each)
			for i := range trackers {
				trackers[i] = drop(d, nil)
			}
			closed += closeWhileCollecting(t, trackers)
		}
		collectUntil(t, func() bool { return d.Stats().Leaked+closed >= rounds*each })
		awaitCleanups(t)
		assert.EqualValues(t, rounds*each, d.Stats().Leaked+closed)
	})
}

func closeWhileCollecting(t *testing.T, trackers []*leak.Tracker) (closed int64) {
	together(2, func(i int) {
		if i == 0 {
			collectUntil(t, func() bool { return true })
			return
		}
		for _, tracker := range trackers {
			if tracker.Close() {
				closed++
			}
			assert.False(t, tracker.Close())
		}
	})
	return closed
}

// together runs f(0) to f(n-1) at the same time and waits for them.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}
