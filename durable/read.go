package durable

import (
	"context"
	"fmt"
	"iter"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Get returns the key's pending entry. It returns ErrNotFound if the key has no entry, and
// ErrFired if a worker has claimed it.
func (s *Store) Get(ctx context.Context, key string) (Entry, error) {
	err := checkKey(key)
	var row backend.Row
	if err == nil {
		row, err = s.backend.Get(ctx, key)
	}
	if err == nil && row.State == backend.Claimed {
		err = ErrFired
	}
	var e Entry
	if err == nil {
		e, err = entryOf(&row)
	}
	if err != nil {
		return Entry{}, wrap("Get", key, err)
	}
	return e, nil
}

// All returns the pending entries whose keys start with prefix, ordered by key, bytewise.
// Waiting retries of a recurring entry follow it under the same key. All reads pages and
// holds no snapshot: changes during the loop may or may not be seen, but an entry that
// does not change is returned exactly once. An error ends the sequence.
func (s *Store) All(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for rows, err := range s.pages(ctx, prefix) {
			if err != nil {
				yield(Entry{}, fmt.Errorf("durable: All %.64q: %w", prefix, err))
				return
			}
			for i := range rows {
				e, err := entryOf(&rows[i])
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

const pageSize = 500

// pages yields the pending rows of a prefix page by page.
func (s *Store) pages(ctx context.Context, prefix string) iter.Seq2[[]backend.Row, error] {
	return func(yield func([]backend.Row, error) bool) {
		var after backend.Cursor
		for {
			rows, err := s.backend.Page(ctx, prefix, after, pageSize, false)
			if err != nil || len(rows) > 0 {
				if !yield(rows, err) || err != nil {
					return
				}
			}
			if len(rows) < pageSize {
				return
			}
			last := &rows[len(rows)-1]
			after = backend.Cursor{Key: last.Key, Slot: last.Slot()}
		}
	}
}
