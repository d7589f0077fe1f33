package check

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
)

// Each scene has recurring entries, too, whose handlers fail at the first attempt. Every
// occurrence must have both attempts.

const (
	seriesPrefix = "series-" // of keys, and of the workers' files
	seriesCount  = 4
	seriesEvery  = time.Second
)

// occurrence is a line of a worker's file.
type occurrence struct {
	Key     string `json:"key"`
	Due     int64  `json:"due"`
	ID      string `json:"id"`
	Attempt int    `json:"attempt"`
}

// addSeries stores the recurring entries.
func (s *scene) addSeries(ctx context.Context) error {
	store, err := s.reads.Open(ctx, true)
	if err != nil {
		return err
	}
	defer store.Close()
	every := durable.Every{Spec: "@every " + seriesEvery.String(), Missed: clock.Missed{Policy: clock.MissedAll, Limit: 10_000}}
	for i := range seriesCount {
		if _, err := store.SetEvery(ctx, fmt.Sprint(seriesPrefix, i), every, time.Now(), nil); err != nil {
			return err
		}
	}
	return nil
}

// endSeries waits until the recurring entries have caught up, or until the timeout, and cancels
// them.
func endSeries(ctx context.Context, store *place.Store, timeout time.Duration) error {
	for end := time.Now().Add(timeout); time.Now().Before(end) && ctx.Err() == nil; sleep(ctx, 100*time.Millisecond) {
		behind := false
		for e, err := range store.All(ctx, seriesPrefix) {
			if err != nil {
				return err
			}
			behind = behind || e.Due.Before(time.Now()) || e.Attempt > 1
		}
		if !behind {
			break
		}
	}
	for { // a claim moves an entry out of the way of a Cancel
		if n, err := store.CancelMany(ctx, seriesPrefix); err != nil || n == 0 {
			return err
		}
	}
}

// handleOccurrence appends an attempt, and fails the first one.
func (l *lines) handleOccurrence(f durable.Firing) error {
	err := l.add(occurrence{f.Key, f.Due.UnixNano(), f.ID, f.Attempt})
	if err == nil && f.Attempt == 1 {
		err = durable.RetryAfter(100 * time.Millisecond)
	}
	return err
}

// series judges the occurrences. The last ones may have been cancelled.
func (t *trial) series(dir string) error {
	first := make(map[string]map[int64]string) // IDs of the first attempts, by key and due time
	attempts := make(map[string]int)           // the highest, by ID
	err := readLines(filepath.Join(dir, seriesPrefix+"*"), func(_ string, o occurrence) {
		if attempts[o.ID] = max(attempts[o.ID], o.Attempt); o.Attempt > 1 {
			return
		}
		if first[o.Key] == nil {
			first[o.Key] = make(map[int64]string)
		}
		first[o.Key][o.Due] = o.ID
	})
	var latest int64
	for _, ids := range first {
		latest = max(latest, slices.Max(slices.Collect(maps.Keys(ids))))
	}
	for key, ids := range first {
		due := slices.Sorted(maps.Keys(ids))
		if last := due[len(due)-1]; last < latest-20*int64(seriesEvery) {
			t.violated("%s: no occurrence after %d fired", key, last)
		}
		t.verdict.Occurrences += len(due)
		for i, at := range due {
			if i > 0 && at-due[i-1] != int64(seriesEvery) {
				t.violated("%s: no occurrence between %d and %d fired", key, due[i-1], at)
			}
			if attempts[ids[at]] < 2 && i < len(due)-20 {
				t.violated("%s: the failed occurrence of %d was not repeated", key, at)
			}
		}
	}
	return err
}
