package observe

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/inspect"
)

const (
	seriesFor    = 10 * time.Second       // time for which the series are current
	seriesWithin = 200 * time.Millisecond // time for which they are read
	mostSeries   = 100                    // on the page
)

// seriesReader reads the series of a store at most once per seriesFor.
type seriesReader struct {
	mu   sync.Mutex
	last inspect.Block // Guarded by mu.
	at   time.Time     // of the last reading. Guarded by mu.
}

// read returns the series with their last runs: those that it finds within seriesWithin.
func (s *seriesReader) read(ctx context.Context, store *durable.Store) (_ inspect.Block, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.at.IsZero() && time.Since(s.at) < seriesFor {
		return s.last, nil
	}
	b := inspect.Block{Title: "Series"}
	b.Table.Columns = []string{"key", "every", "next", "last due", "began", "took", "attempt", "outcome", "error"}
	within, cancel := context.WithTimeout(ctx, seriesWithin)
	defer cancel()
	for e, failed := range store.Series(within, "") {
		switch {
		case within.Err() != nil || len(b.Table.Rows) == mostSeries:
			b.Title = "Series, the first ones"
		case failed != nil && !errors.Is(failed, durable.ErrDamaged):
			err = failed
		default:
			b.Table.Rows = append(b.Table.Rows, seriesRow(e))
			continue
		}
		break
	}
	s.last, s.at = b, time.Now()
	return b, err
}

// seriesRow shows a series. The row of a damaged series has only a key.
func seriesRow(s durable.Series) []any {
	row := []any{s.Key}
	if s.Due.IsZero() {
		return row
	}
	row = append(row, s.Every.Spec+s.Every.Schedule, s.Due)
	if r := s.Last; r != nil {
		row = append(row, r.Due, r.Began, r.Took, r.Attempt, r.Outcome.String(), r.Error)
	}
	return row
}
