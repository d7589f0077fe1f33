package leak_test

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/leak"
)

func TestLeakedResourceIsReportedOnceWithItsHint(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, reports := newSinkDetector()
	drop(d, func(tracker *leak.Tracker) { tracker.Record("the last access") })

	collectUntil(t, func() bool { return len(reports.all()) > 0 })
	awaitCleanups(t)

	require.Len(t, reports.all(), 1)
	report := reports.all()[0]
	assert.Equal(t, "test.Resource", report.Type)
	assert.Empty(t, report.Scope)
	assert.Equal(t, "github.com/hashedwheel/hwt/leak_test.drop", report.Created[0].Function)
	require.Len(t, report.Records, 1)
	assert.Equal(t, "the last access", report.Records[0].Hint)
	assert.Contains(t, report.Records[0].Stack[0].Function, t.Name(), "the caller of Record comes first")
	assert.Equal(t, leak.Stats{Leaked: 1}, d.Stats())
}

func TestReleasedResourceIsNeverReported(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, reports := newSinkDetector()
	for range 100 {
		drop(d, func(tracker *leak.Tracker) { assert.True(t, tracker.Close()) })
	}
	awaitCleanups(t)
	assert.Empty(t, reports.all())
	assert.Zero(t, d.Stats())
}

func TestResourceInUseIsNotReported(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, reports := newSinkDetector()
	r := &resource{}
	r.tracker = d.Track(r)
	awaitCleanups(t)
	assert.Empty(t, reports.all())
	assert.True(t, r.close())
}

func TestTrackerAndHintsKeepNoResourceReachable(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, reports := newSinkDetector()
	tracker := dropWithItselfAsHint(d)
	collectUntil(t, func() bool { return len(reports.all()) > 0 })
	assert.Equal(t, "*leak_test.resource", reports.all()[0].Records[0].Hint)
	assert.False(t, tracker.Close(), "already reported")
}

//go:noinline
func dropWithItselfAsHint(d *leak.Detector[resource]) *leak.Tracker {
	r := &resource{}
	r.tracker = d.Track(r)
	r.tracker.Record(r)
	return r.tracker
}

func TestEqualLeaksAreReportedOnceAndCounted(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, reports := newSinkDetector()
	for range 10 {
		drop(d, nil)
	}
	collectUntil(t, func() bool { return allReported(d, reports, 10) })
	awaitCleanups(t)
	assert.Len(t, reports.all(), 1)
	assert.Equal(t, leak.Stats{Leaked: 10, Duplicates: 9}, d.Stats())
}

func TestLeaksWithDifferentTextsAreEachReported(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, reports := newSinkDetector()
	for _, hint := range []string{"a", "b", "a"} {
		drop(d, func(tracker *leak.Tracker) { tracker.Record(hint) })
	}
	collectUntil(t, func() bool { return allReported(d, reports, 3) })
	awaitCleanups(t)
	assert.Len(t, reports.all(), 2)
	assert.Equal(t, leak.Stats{Leaked: 3, Duplicates: 1}, d.Stats())
}

func TestLevelSelectsTrackedResources(t *testing.T) {
	d, _ := newSinkDetector(leak.Options{SamplingInterval: 1 << 30})
	all, _ := newSinkDetector(leak.Options{SamplingInterval: 1})
	for _, c := range []struct {
		level                     leak.Level
		tracked, always, detailed bool
	}{
		{leak.LevelDisabled, false, false, false},
		{leak.LevelSimple, false, true, false},
		{leak.LevelAdvanced, false, true, true},
		{leak.LevelParanoid, true, true, true},
	} {
		at(t, c.level)
		sampled, always := &resource{}, &resource{}
		sampled.tracker, always.tracker = d.Track(sampled), all.Track(always)
		assert.Equal(t, c.tracked, sampled.tracker != nil, "Track at %v", c.level)
		assert.Equal(t, c.always, always.tracker != nil, "interval 1 at %v", c.level)
		assert.Equal(t, c.detailed, always.tracker.Detailed(), "Detailed at %v", c.level)
		assert.Equal(t, c.tracked, sampled.close())
		assert.Equal(t, c.always, always.close())
	}
}

func TestBelowParanoidOneIn128IsTracked(t *testing.T) {
	for _, level := range []leak.Level{leak.LevelSimple, leak.LevelAdvanced} {
		at(t, level)
		d, _ := newSinkDetector()
		const expected = 1000 // standard deviation 31.5; the bound is six of them
		tracked := 0
		for range expected * 128 {
			r := &resource{}
			if r.tracker = d.Track(r); r.tracker != nil {
				tracked++
				r.close()
			}
		}
		assert.InDelta(t, expected, tracked, 190, "at %v", level)
	}
}

func TestSamplingIntervalOfOneTracksEveryResource(t *testing.T) {
	at(t, leak.LevelSimple)
	d, _ := newSinkDetector(leak.Options{SamplingInterval: 1})
	for range 10 {
		r := &resource{}
		r.tracker = d.Track(r)
		require.NotNil(t, r.tracker)
		r.close()
	}
}

func TestOptionOutsideItsRangePanics(t *testing.T) {
	for _, c := range []struct {
		options leak.Options
		want    string
	}{
		{leak.Options{SamplingInterval: -1},
			"leak: Options.SamplingInterval: -1 (expected: 0 for the default, or 1 to 1073741824)"},
		{leak.Options{SamplingInterval: 1<<30 + 1},
			"leak: Options.SamplingInterval: 1073741825 (expected: 0 for the default, or 1 to 1073741824)"},
		{leak.Options{TargetRecords: -1}, "leak: Options.TargetRecords: -1 (expected: 0 for the default, or 1 to 1024)"},
		{leak.Options{TargetRecords: 1025}, "leak: Options.TargetRecords: 1025 (expected: 0 for the default, or 1 to 1024)"},
	} {
		assert.PanicsWithError(t, c.want, func() { leak.NewDetector[resource]("test.Resource", &c.options) })
	}
}

func TestDetectorKeepsTheOptionsItWasGiven(t *testing.T) {
	at(t, leak.LevelDisabled)
	scope := leak.NewScope("kept")
	options := leak.Options{Scope: scope, ReleaseMethod: "Stop"}
	d := leak.NewDetector[resource]("test.Resource", &options)
	options = leak.Options{}
	drop(d, nil)
	require.Len(t, scope.Reports(), 1, "the options were copied")
	assert.Equal(t, "Stop", scope.Reports()[0].ReleaseMethod)
}

func TestNilIsNotTracked(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, _ := newSinkDetector()
	assert.Nil(t, d.Track(nil))
}

func TestStackBeginsWithTheInterfacesCaller(t *testing.T) {
	at(t, leak.LevelParanoid)
	scope := leak.NewScope("stacks")
	d, _ := newSinkDetector(leak.Options{Scope: scope})
	var tracking interface {
		Track(*resource) *leak.Tracker
	} = d
	r := &resource{}
	r.tracker = tracking.Track(r)
	assert.Contains(t, scope.Reports()[0].Created[0].Function, t.Name())
	assert.True(t, r.close())
}

func TestSimpleRecordsHintsButNoStacks(t *testing.T) {
	at(t, leak.LevelSimple)
	d, reports := newSinkDetector(leak.Options{SamplingInterval: 1})
	drop(d, func(tracker *leak.Tracker) {
		tracker.Record("hint")
		tracker.Record(nil)
	})
	collectUntil(t, func() bool { return len(reports.all()) > 0 })
	report := reports.all()[0]
	assert.NotEmpty(t, report.Created)
	assert.Equal(t, []leak.Record{{Hint: "hint"}}, report.Records)
}

func TestChangingTheLevelKeepsTrackedResources(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, reports := newSinkDetector()
	drop(d, func(*leak.Tracker) { leak.SetLevel(leak.LevelDisabled) })
	collectUntil(t, func() bool { return len(reports.all()) > 0 })
}

func TestPanicOfAListenerLosesNoReport(t *testing.T) {
	at(t, leak.LevelParanoid)
	var log enginetest.Buffer
	d := leak.NewDetector[resource]("test.Resource", &leak.Options{
		Logger:   slog.New(slog.NewTextHandler(&log, nil)),
		Listener: func(leak.Report) { panic("listener's own fault") },
	})
	drop(d, nil)
	collectUntil(t, func() bool { return d.Stats().Leaked == 1 && strings.Contains(log.String(), "listener's own fault") })
	assert.Contains(t, log.String(), "LEAK: test.Resource.Close()", "the report is not lost")
}

func TestWithoutAListenerReportsAreLoggedAsErrors(t *testing.T) {
	at(t, leak.LevelParanoid)
	var log enginetest.Buffer
	d := leak.NewDetector[resource]("test.Resource", &leak.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	drop(d, nil)
	collectUntil(t, func() bool { return strings.Contains(log.String(), "\n") })
	assert.Contains(t, log.String(), "level=ERROR")
	assert.Contains(t, log.String(), "LEAK: test.Resource.Close() was not called before it was garbage-collected")
	assert.Contains(t, log.String(), "resource=test.Resource")
}

func TestReportUsesTheCurrentDefaultLog(t *testing.T) {
	at(t, leak.LevelParanoid)
	d := leak.NewDetector[resource]("test.Resource", nil)
	var logged enginetest.Buffer
	before, writer, flags := slog.Default(), log.Writer(), log.Flags()
	defer func() { // SetDefault redirects package log as well
		slog.SetDefault(before)
		log.SetOutput(writer)
		log.SetFlags(flags)
	}()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	drop(d, nil)
	collectUntil(t, func() bool { return strings.Contains(logged.String(), "LEAK: test.Resource") })
}

func TestPanicOfALogHandlerIsIgnored(t *testing.T) {
	at(t, leak.LevelParanoid)
	d := leak.NewDetector[resource]("test.Resource", &leak.Options{Logger: slog.New(brokenHandler{})})
	drop(d, nil)
	collectUntil(t, func() bool { return d.Stats().Leaked == 1 })
	awaitCleanups(t)
}

func TestLeakInABubbleIsReportedOutsideOfIt(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, reports := newSinkDetector()
	synctest.Test(t, func(t *testing.T) {
		kept := &resource{}
		kept.tracker = d.Track(kept)
		drop(d, func(tracker *leak.Tracker) {
			tracker.Record("inside")
			time.Sleep(time.Hour)
		})
		runtime.GC()
		synctest.Wait()
		assert.True(t, kept.close())
	})
	collectUntil(t, func() bool { return len(reports.all()) > 0 })
	awaitCleanups(t)
	assert.Len(t, reports.all(), 1)
}

// brokenHandler is a slog.Handler that panics with an error.
type brokenHandler struct{}

func (brokenHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (brokenHandler) Handle(context.Context, slog.Record) error { panic(errors.New("no disk")) }
func (h brokenHandler) WithAttrs([]slog.Attr) slog.Handler      { return h }
func (h brokenHandler) WithGroup(string) slog.Handler           { return h }
