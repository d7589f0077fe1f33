package durable

import (
	"cmp"
	"context"
	"iter"

	"github.com/hashedwheel/hwt/durable/backend"
)

// All returns the pending entries with keys that start with prefix, ordered by key, bytewise.
// Waiting retries of a recurring entry follow it under the same key. All reads pages and holds
// no snapshot: changes during the loop may or may not be seen, but an entry that does not
// change is returned exactly once.
//
// For a damaged entry, All yields an error that wraps ErrDamaged, with an Entry that has only
// the Key, and continues with the next entry. If the Key itself is damaged, the sequence may
// leave out intact entries, or end there. Any other error ends the sequence.
func (s *Store) All(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for rows, err := range backend.Pages(ctx, s.backend, prefix, false) {
			for i := range rows {
				e, err := entryOf(&rows[i])
				if err != nil {
					err = wrap("All", e.Key, err)
				}
				if !yield(e, err) {
					return
				}
			}
			if err != nil {
				ref, err := unread("All", prefix, err)
				if !yield(Entry{Key: ref.Key}, err) {
					return
				}
			}
		}
	}
}

// Series returns the pending recurring entries whose keys start with prefix, ordered by key, each with
// its last run. It reads pages, as All does. For a damaged entry, Series yields an error that wraps
// ErrDamaged beside a Series that has only the Key, and continues. If only the last run is
// damaged, the Series has the entry.
//
// A run is stored with its outcome. A run that ends while a transaction of the program has locked the
// pending occurrence may be missing, as may one whose worker dies.
func (s *Store) Series(ctx context.Context, prefix string) iter.Seq2[Series, error] {
	return func(yield func(Series, error) bool) {
		for rows, err := range backend.Pages(ctx, s.backend, prefix, false) {
			for i := range rows {
				if rows[i].Every == "" || rows[i].Detached {
					continue
				}
				e, err := entryOf(&rows[i])
				last, damage := decodeRun(rows[i].Last)
				if err = cmp.Or(err, damage); err != nil {
					err = wrap("Series", rows[i].Key, err)
				}
				if !yield(Series{e, last}, err) {
					return
				}
			}
			if err != nil {
				ref, err := unread("Series", prefix, err)
				if !yield(Series{Entry: Entry{Key: ref.Key}}, err) {
					return
				}
			}
		}
	}
}
