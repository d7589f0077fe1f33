package leak_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/leak"
)

func TestDisabledAllocatesNothing(t *testing.T) {
	at(t, leak.LevelDisabled)
	d, _ := newSinkDetector()
	r := &resource{}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		r.tracker = d.Track(r)
		r.tracker.Record("hint")
		r.close()
	}))
}

func TestUnsampledResourceAllocatesNothing(t *testing.T) {
	at(t, leak.LevelSimple)
	d, _ := newSinkDetector(leak.Options{SamplingInterval: 1 << 30})
	r := &resource{}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		r.tracker = d.Track(r)
		r.tracker.Record("hint")
		r.close()
	}))
}

// The detector makes two allocations. The others are made by runtime.AddCleanup.
func TestTrackedResourceTakesFewAllocations(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, _ := newSinkDetector()
	r := &resource{}
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		r.tracker = d.Track(r)
		r.close()
	}), 4.0)
}

func TestRecordTakesTwoAllocations(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, _ := newSinkDetector()
	r := &resource{}
	r.tracker = d.Track(r)
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { r.tracker.Record("hint") }), 2.0)
	assert.True(t, r.close())
}
