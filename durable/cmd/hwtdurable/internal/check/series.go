package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

// Each scene has recurring entries, too, and one-shot entries that no client changes. Their
// handlers fail at the first attempt. Every occurrence must have both attempts: a one-shot entry
// is a series of one.

const (
	oncePrefix   = seriesPrefix + "once-"
	effectPrefix = "z-" // of the effects' keys, the last ones
	seriesEvery  = time.Second
	seriesFile   = "series" // of the series
)

// overlaps are the recurring entries with their Every.Overlap.
var overlaps = map[string]clock.Overlap{
	seriesPrefix + "0": clock.OverlapParallel, seriesPrefix + "1": clock.OverlapParallel, seriesPrefix + "2": clock.OverlapParallel,
	seriesPrefix + "skip": clock.OverlapSkip, seriesPrefix + "queue": clock.OverlapQueueOne,
}

func seriesPayload(key string) []byte { return []byte(key) }

func isRecurring(key string) bool { return strings.HasPrefix(key, seriesPrefix) }

// series is a line of the file of the series: occurrences from the first one on must have
// fired up to the next one, which was pending when the series was read.
type series struct {
	Key   string `json:"key"`
	First int64  `json:"first"`
	Next  int64  `json:"next"` // 0 if the series was not pending
	At    int64  `json:"at"`   // 0 of a one-shot entry
}

// addSeries stores the recurring entries, and a one-shot entry for each of their times.
func (s *scene) addSeries(ctx context.Context, d time.Duration) error {
	store, err := s.reads.Open(ctx, true)
	if err != nil {
		return err
	}
	defer store.Close()
	first := time.Now()
	s.first = first.UnixNano()
	if err := ensureSeries(ctx, store, first); err != nil {
		return err
	}
	for i := range s.configs { // at the next start of the process
		s.configs[i].First = s.first
	}
	for due := s.first; due < s.first+int64(d); due += int64(seriesEvery) {
		key := fmt.Sprint(oncePrefix, len(s.once))
		s.once = append(s.once, series{Key: key, First: due, Next: due + int64(seriesEvery)})
	}
	if s.configs[0].Kinds {
		s.others = others
	}
	err = setMany(ctx, store, durable.Entry{Key: otherPrefix, Due: first}, s.others, 0)
	if err != nil {
		return err
	}
	_, err = store.SetMany(ctx, func(yield func(durable.Entry) bool) {
		for _, one := range s.once {
			if !yield(durable.Entry{Key: one.Key, Due: time.Unix(0, one.First), Payload: seriesPayload(one.Key)}) {
				return
			}
		}
	})
	return err
}

// ensureSeries stores the recurring entries, as a service does at each start. ensureSeries keeps
// the overdue occurrences of existing entries.
func ensureSeries(ctx context.Context, store *place.Store, first time.Time) error {
	for key, overlap := range overlaps {
		every := durable.Every{Spec: "@every " + seriesEvery.String(), Missed: clock.Missed{MaxRuns: 10_000}, Overlap: overlap}
		if _, _, err := store.Ensure(ctx, durable.Entry{Key: key, Due: first, Payload: seriesPayload(key), Every: every}); err != nil {
			return err
		}
	}
	return nil
}

// endSeries waits until the recurring entries have caught up, or until the timeout, and
// moves them out of the way. A Cancel would delete waiting retries, too.
func (s *scene) endSeries(ctx context.Context, store *place.Store, timeout time.Duration) error {
	for end := time.Now().Add(timeout); time.Now().Before(end) && ctx.Err() == nil; proc.Sleep(ctx, 100*time.Millisecond) {
		behind := false
		for e, err := range store.All(ctx, seriesPrefix) {
			if err != nil {
				return err
			}
			behind = behind || e.Due.Before(time.Now())
		}
		if !behind {
			break
		}
	}
	all := s.once
	for key := range overlaps {
		one, err := moveAway(ctx, store, key)
		if err != nil {
			return err
		}
		one.First = s.first
		all = append(all, one)
	}
	return addLines(filepath.Join(s.dir, seriesFile), all...)
}

// moveAway moves a recurring entry by a day, and returns its next occurrence without that.
func moveAway(ctx context.Context, store *place.Store, key string) (series, error) {
	for {
		e, err := store.Get(ctx, key)
		if err == nil {
			_, err = store.If(e.Generation).Move(ctx, key, e.Due.Add(24*time.Hour))
		}
		switch {
		case err == nil:
			return series{Key: key, Next: e.Due.UnixNano(), At: now()}, nil
		case errors.Is(err, durable.ErrNotFound), errors.Is(err, durable.ErrFired):
			return series{Key: key, At: now()}, nil
		case !errors.Is(err, durable.ErrConflict): // a claim has stored the next occurrence
			return series{}, err
		}
	}
}

// handleOccurrence fails the first attempt. A later one has an effect in the transaction that
// acknowledges it, unless that may find no room.
func (w *worker) handleOccurrence(ctx context.Context, f durable.Firing) error {
	switch {
	case f.Attempt == 1 && rand.IntN(2) == 0 && !proc.Sleep(ctx, rand.N(2*drain)): // a deployment may interrupt it
		return ctx.Err()
	case f.Attempt == 1:
		return durable.RetryAfter(100 * time.Millisecond)
	case w.Single:
		return nil
	}
	err := w.store.InTx(ctx, func(tx durable.Tx) error {
		_, err := tx.Create(ctx, durable.Entry{Key: effectPrefix + f.ID, Due: time.Now().Add(24 * time.Hour)})
		if err == nil {
			err = tx.Done(ctx, f)
		}
		return err
	})
	if errors.Is(err, durable.ErrExists) {
		return durable.GiveUp(err) // for the reads at the end
	}
	proc.Sleep(ctx, rand.N(time.Second)) // faults find it acknowledged
	return err
}

// effects returns an error unless each occurrence has had its effect.
func (s *scene) effects(had map[string]bool) (err error) {
	unread := readLines(filepath.Join(s.dir, "firings-*"), func(_ string, f Firing) {
		if f.Attempt > 1 && !had[f.ID] && !s.configs[0].Single {
			err = fmt.Errorf("%s: %+v was acknowledged without its effect", f.Key, f)
		}
	})
	return errors.Join(err, unread)
}

// behind is the time by which the next occurrence of a series may be overdue when it is read.
const behind = int64(10 * time.Second)

// series judges the occurrences.
func (t *trial) series(dir string, faults []Fault) error {
	if err := t.interrupted(dir); err != nil {
		return err
	}
	ids := make(map[string]map[int64]string) // of the first attempts, by key and due time
	repeated := make(map[string]Firing)      // second attempts, by ID
	slices.SortFunc(t.occurrences, func(a, b Firing) int { return cmp.Compare(a.At, b.At) })
	for _, f := range t.occurrences {
		if alone(f.Key) {
			repeated[f.ID] = f // it needs no second attempt
		}
		if f.Attempt > 1 {
			before, twice := repeated[f.ID]
			lost := func(x Fault) bool { return x.explains(before, f) } // the outcome of the first attempt
			if (f.Attempt > 2 || twice) && !slices.ContainsFunc(faults, lost) {
				t.violated("%s was repeated after a success: %+v and %+v", f.Key, before, f)
			}
			repeated[f.ID] = f
			continue
		}
		if ids[f.Key] == nil {
			ids[f.Key] = make(map[int64]string)
		}
		if id, twice := ids[f.Key][f.Due]; twice {
			t.violated("%s: the occurrence of %d has the IDs %s and %s", f.Key, f.Due, id, f.ID)
		}
		ids[f.Key][f.Due] = f.ID
	}
	err := readLines(filepath.Join(dir, seriesFile), func(_ string, s series) {
		if s.Next < s.At-behind {
			t.violated("%s: the next occurrence at %d is that of %d", s.Key, s.At, s.Next)
		}
		for due := s.First; due < s.Next; due += int64(seriesEvery) {
			id, fired := ids[s.Key][due]
			switch _, again := repeated[id]; {
			case !fired && alone(s.Key): // skipped
			case !fired:
				t.violated("%s: the occurrence of %d did not fire", s.Key, due)
			case !again:
				t.violated("%s: the failed occurrence of %d was not repeated", s.Key, due)
			default:
				t.verdict.Occurrences++
			}
			delete(ids[s.Key], due)
		}
		for due := range ids[s.Key] {
			t.violated("%s: %d is no occurrence, and fired", s.Key, due)
		}
		delete(ids, s.Key)
	})
	for key := range ids {
		t.violated("%s fired, and was never set", key)
	}
	return err
}

// interrupted judges the attempts that deployments have interrupted. They do not count: each fires
// again, with the same number.
func (t *trial) interrupted(dir string) error {
	type attempt struct {
		id     string
		number int
	}
	fired, cut := make(map[attempt]int), make(map[attempt]int)
	err := readLines(filepath.Join(dir, "firings-*"), func(_ string, f Firing) {
		switch a := (attempt{f.ID, f.Attempt}); {
		case f.Begin == 0:
			fired[a]++
		case f.Cut && f.Attempt == 1 && isRecurring(f.Key):
			cut[a]++
		}
	})
	for a, n := range cut {
		if fired[a] <= n {
			t.violated("attempt %d of %s was interrupted, and counted", a.number, a.id)
		}
	}
	return err
}
