package durable_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// overlaps is a handler that takes a time, and counts the handlers of each key that run with it.
type overlaps struct {
	f       *fixture
	takes   time.Duration
	running map[string]int
	most    int
}

func (o *overlaps) handle(_ context.Context, firing durable.Firing) error {
	o.f.mu.Lock()
	o.running[firing.Key]++
	o.most = max(o.most, o.running[firing.Key])
	o.f.mu.Unlock()
	time.Sleep(o.takes)
	o.f.mu.Lock()
	defer o.f.mu.Unlock()
	o.running[firing.Key]--
	return nil
}

func TestSerialKeyRunsOneHandlerAtATime(t *testing.T) {
	for _, serial := range []bool{true, false} {
		for _, marks := range []bool{false, true} {
			t.Run(fmt.Sprintf("serial=%v, leases marked=%v", serial, marks), func(t *testing.T) {
				inBubble(t, func(f *fixture) {
					if marks {
						f.b.leased = make(map[backend.Ref]bool)
					}
					o := &overlaps{f: f, takes: 5 * time.Second, running: make(map[string]int)}
					for range 2 { // two workers
						defer f.work(o.handle, &durable.WorkOptions{Serial: serial})()
					}
					for i := range 4 { // each Set finds the entry before it claimed
						f.setIn("k", 0)
						f.setIn(fmt.Sprint("other", i), 0)
						time.Sleep(time.Second)
					}
					time.Sleep(time.Minute)
					f.mu.Lock()
					defer f.mu.Unlock()
					if !serial {
						assert.Equal(t, 4, o.most, "so that the test can fail")
						return
					}
					assert.Equal(t, 1, o.most)
					for _, firing := range f.fired {
						assert.True(t, firing.Key == "k" || firing.Lateness < 500*time.Millisecond, "other keys do not wait")
					}
					assert.Equal(t, "k", f.fired[len(f.fired)-1].Key, "the last Set fires")
				})
			})
		}
	}
}

func TestOverlapOfASeries(t *testing.T) {
	for name, c := range map[string]struct {
		overlap clock.Overlap
		takes   time.Duration
		want    []time.Duration
		most    int
	}{
		"skip":       {clock.OverlapSkip, 14 * time.Second, seconds(5, 20, 35, 50), 1},
		"queue one":  {clock.OverlapQueueOne, 14 * time.Second, seconds(5, 19, 33, 47), 1},
		"parallel":   {clock.OverlapParallel, 14 * time.Second, seconds(5, 10, 15, 20, 25, 30, 35, 40, 45, 50), 3},
		"no overlap": {clock.OverlapSkip, 4900 * time.Millisecond, seconds(5, 10, 15, 20, 25, 30, 35, 40, 45, 50), 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				o := &overlaps{f: f, takes: c.takes, running: make(map[string]int)}
				_, err := f.Set(f.t.Context(), durable.Entry{Key: "series", Every: durable.Every{Spec: "@every 5s", Overlap: c.overlap}})
				require.NoError(t, err)
				end := f.work(o.handle, nil)
				time.Sleep(52 * time.Second)
				end()
				f.mu.Lock()
				defer f.mu.Unlock()
				var rounded []time.Duration
				for _, at := range f.at {
					rounded = append(rounded, at.Truncate(time.Second))
				}
				assert.Equal(t, c.want, rounded)
				assert.Equal(t, c.most, o.most)
				assert.Equal(t, c.overlap, f.fired[0].Every.Overlap)
			})
		})
	}
}

// Each handler takes the time of almost three occurrences.
func TestQueuedOccurrenceFollowsMissed(t *testing.T) {
	for runs, want := range map[int][]time.Duration{0: seconds(5, 15, 30, 45), 3: seconds(5, 10, 20, 35), 100: seconds(5, 10, 15, 20)} {
		t.Run(fmt.Sprint("MaxRuns ", runs), func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				o := &overlaps{f: f, takes: 14 * time.Second, running: make(map[string]int)}
				_, err := f.Set(f.t.Context(), durable.Entry{Key: "series", Every: durable.Every{Spec: "@every 5s",
					Overlap: clock.OverlapQueueOne, Missed: clock.Missed{MaxRuns: runs}}})
				require.NoError(t, err)
				end := f.work(o.handle, nil)
				time.Sleep(52 * time.Second)
				end()
				var due []time.Duration
				for _, firing := range f.firings() {
					due = append(due, firing.Due.Sub(f.start))
				}
				assert.Equal(t, want, due)
				assert.Equal(t, 1, o.most)
			})
		})
	}
}

func TestWaitingRetryDoesNotSkipAnOccurrence(t *testing.T) {
	inBubble(t, func(f *fixture) {
		_, err := f.Set(f.t.Context(), durable.Entry{Key: "series", Every: durable.Every{Spec: "@every 5s"}})
		require.NoError(t, err)
		defer f.work(func(_ context.Context, firing durable.Firing) error {
			if firing.Attempt == 1 && firing.Due.Equal(f.start.Add(5*time.Second)) {
				return errors.Join(errors.New("failed"), durable.RetryAfter(12*time.Second))
			}
			return nil
		}, nil)()
		time.Sleep(22 * time.Second)
		assert.Equal(t, seconds(5, 10, 15, 17, 20), f.times())
	})
}

func TestUnknownOverlapIsInvalid(t *testing.T) {
	inBubble(t, func(f *fixture) {
		_, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Every: durable.Every{Spec: "@every 5s", Overlap: 3}})
		require.ErrorIs(t, err, durable.ErrInvalid)
		require.ErrorContains(t, err, "Every.Overlap: 3 (expected: OverlapSkip, OverlapQueueOne, or OverlapParallel)")
	})
}
