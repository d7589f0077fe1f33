package leak_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/leak"
)

// recorder is a TestingT that records its failures. Its test ends when finish is called.
type recorder struct {
	failures []string
	cleanups []func()
}

func (r *recorder) Name() string     { return "TestRun" }
func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) finish() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func TestScopeWithoutOpenResourcesPasses(t *testing.T) {
	scope := new(leak.Scope)
	d, _ := newSinkDetector(leak.Options{Scope: scope})
	r := &resource{}
	r.tracker = d.Track(r)
	assert.Len(t, scope.Reports(), 1)
	assert.True(t, r.close())
	assert.Empty(t, scope.Reports())
	scope.Check(t)
}

func TestScopeReportsEachOpenResource(t *testing.T) {
	at(t, leak.LevelDisabled) // a scope counts at every level
	scope := leak.NewScope("orders")
	d, _ := newSinkDetector(leak.Options{Scope: scope, ReleaseMethod: "Stop"})
	for range 3 {
		drop(d, nil)
	}
	drop(d, func(tracker *leak.Tracker) { tracker.Record("used") })

	var failed recorder
	scope.Check(&failed)

	require.Len(t, failed.failures, 1)
	text := failed.failures[0]
	assert.Contains(t, text, `scope "orders": 4 open`)
	assert.Contains(t, text, `3 x LEAK: test.Resource.Stop() was not called before the end of scope "orders"`)
	assert.Contains(t, text, "1 x LEAK: ")
	assert.Contains(t, text, "Hint: used")
	assert.Equal(t, 2, strings.Count(text, "leak_test.drop\n"))
	assert.Contains(t, text, t.Name())
}

func TestWatchingScopeCountsAllDetectors(t *testing.T) {
	at(t, leak.LevelDisabled)
	first, _ := newSinkDetector()
	second := leak.NewDetector[[64]byte]("test.Block", nil)

	assert.Nil(t, drop(first, nil), "no scope watches yet")
	scope := leak.NewScope("all").Watch().Watch() // a second Watch changes nothing
	tracker, block := drop(first, nil), second.Track(new([64]byte))
	open := scope.Reports()
	require.Len(t, open, 2)
	assert.Equal(t, "test.Resource", open[0].Type)
	assert.Equal(t, "test.Block", open[1].Type)
	assert.Equal(t, "all", open[0].Scope)

	assert.True(t, tracker.Close())
	assert.Len(t, scope.Reports(), 1)
	assert.True(t, block.Close())
	scope.Check(t)

	assert.Nil(t, drop(first, nil), "the check ended the watch")
	assert.Nil(t, drop(leaveEnded(scope), nil), "an ended scope does not watch again")
}

func TestEndedScopeCountsNoNewResource(t *testing.T) {
	at(t, leak.LevelDisabled)
	scope := leak.NewScope("ended")
	d, _ := newSinkDetector(leak.Options{Scope: scope})
	before := drop(d, nil)
	scope.Check(&recorder{})
	drop(d, nil)
	assert.Len(t, scope.Reports(), 1)
	assert.True(t, before.Close())
	scope.Check(t)
}

func TestScopeListsOpenResourcesOldestFirst(t *testing.T) {
	at(t, leak.LevelDisabled)
	scope := leak.NewScope("order")
	d, _ := newSinkDetector(leak.Options{Scope: scope})
	const n = 50
	for i := range n {
		drop(d, func(tracker *leak.Tracker) { tracker.Record(i) })
	}
	for i, report := range scope.Reports() {
		assert.Equal(t, fmt.Sprint(i), report.Records[0].Hint)
	}
}

func TestScopeCountsAtLevelDisabled(t *testing.T) {
	at(t, leak.LevelDisabled)
	scope := leak.NewScope("disabled")
	d, reports := newSinkDetector(leak.Options{Scope: scope})
	dropAlways(d)
	awaitCleanups(t)
	assert.Len(t, scope.Reports(), 1)
	assert.Empty(t, reports.all())
}

//go:noinline
func dropAlways(d *leak.Detector[resource]) {
	r := &resource{}
	r.tracker = d.Track(r)
}

func leaveEnded(scope *leak.Scope) *leak.Detector[resource] {
	d, _ := newSinkDetector()
	scope.Watch()
	return d
}

func TestScopesCountIndependently(t *testing.T) {
	at(t, leak.LevelDisabled)
	own, all, other := leak.NewScope("own"), leak.NewScope("all").Watch(), leak.NewScope("other").Watch()
	d, _ := newSinkDetector(leak.Options{Scope: own})
	tracker := drop(d, nil)
	for _, scope := range []*leak.Scope{own, all, other} {
		assert.Len(t, scope.Reports(), 1)
	}
	other.Check(&recorder{})
	second := drop(d, nil)
	assert.Len(t, own.Reports(), 2)
	assert.Len(t, all.Reports(), 2)
	assert.Len(t, other.Reports(), 1, "it ended")
	assert.True(t, tracker.Close())
	assert.True(t, second.Close())
	for _, scope := range []*leak.Scope{own, all, other} {
		scope.Check(t)
	}
}

func TestWatchingScopeInTheOptionsCountsOnce(t *testing.T) {
	at(t, leak.LevelDisabled)
	scope := leak.NewScope("both").Watch()
	d, _ := newSinkDetector(leak.Options{Scope: scope})
	tracker := drop(d, nil)
	assert.Len(t, scope.Reports(), 1)
	assert.True(t, tracker.Close())
	scope.Check(t)
}

func TestScopeCountsBeforeAndAfterACollection(t *testing.T) {
	at(t, leak.LevelParanoid)
	scope := leak.NewScope("collected")
	d, reports := newSinkDetector(leak.Options{Scope: scope})
	drop(d, func(tracker *leak.Tracker) { tracker.Record("hint") })
	assert.Len(t, scope.Reports(), 1)
	collectUntil(t, func() bool { return len(reports.all()) > 0 })
	require.Len(t, scope.Reports(), 1, "collected is not released")
	assert.Equal(t, "hint", scope.Reports()[0].Records[0].Hint)
}

func TestTestScopeChecksAfterTheTestsCleanups(t *testing.T) {
	at(t, leak.LevelDisabled)
	d, _ := newSinkDetector()
	run := new(recorder)
	scope := leak.NewTestScope(run)
	kept, deferred := drop(d, nil), drop(d, nil)
	run.Cleanup(func() { assert.True(t, kept.Close()) })
	func() { defer deferred.Close() }()
	assert.Len(t, scope.Reports(), 1)
	run.finish()
	assert.Empty(t, run.failures)
	assert.Nil(t, drop(d, nil), "the scope no longer watches")
}

func TestTestScopeFailsATestWithAnOpenResource(t *testing.T) {
	at(t, leak.LevelDisabled)
	d, _ := newSinkDetector()
	run := new(recorder)
	leak.NewTestScope(run)
	drop(d, nil)
	run.finish()
	require.Len(t, run.failures, 1)
	assert.Contains(t, run.failures[0], `scope "TestRun": 1 open`)
}

func TestTestScopeWorksInARealTest(t *testing.T) {
	at(t, leak.LevelDisabled)
	d, _ := newSinkDetector()
	t.Run("sub", func(t *testing.T) {
		leak.NewTestScope(t)
		tracker := drop(d, nil)
		t.Cleanup(func() { tracker.Close() })
	})
	synctest.Test(t, func(t *testing.T) {
		leak.NewTestScope(t)
		tracker := drop(d, nil)
		t.Cleanup(func() { tracker.Close() })
	})
}

func TestScopeWorksInABubble(t *testing.T) {
	at(t, leak.LevelDisabled)
	synctest.Test(t, func(t *testing.T) {
		scope := leak.NewScope("bubble").Watch()
		defer scope.Check(t)
		d, _ := newSinkDetector()
		tracker := drop(d, nil)
		go tracker.Close()
		synctest.Wait()
	})
}

func TestScopesUnderConcurrentUse(t *testing.T) {
	at(t, leak.LevelDisabled)
	atProcs(t, func(t *testing.T) {
		scope := leak.NewScope("busy").Watch()
		d, _ := newSinkDetector()
		together(4, func(i int) {
			for range 200 {
				tracker := drop(d, nil)
				tracker.Record(i)
				assert.LessOrEqual(t, len(scope.Reports()), 4)
				assert.True(t, tracker.Close())
			}
		})
		scope.Check(t)
	})
}
