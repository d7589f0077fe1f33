package durable

import (
	"cmp"
	"context"
	"iter"
	"slices"

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
	return sequence("All", prefix, backend.Pages(ctx, s.backend, prefix, false), entryOf,
		func(ref backend.Ref) Entry { return Entry{Key: ref.Key} })
}

// Series returns the pending recurring entries whose keys start with prefix, ordered by key, each with
// its last run. It reads pages, as All does. For a damaged entry, Series yields an error that wraps
// ErrDamaged beside a Series that has only the Key, and continues. If only the last run is
// damaged, the Series has the entry.
//
// A run is stored with its outcome. A run that ends while a transaction of the program has locked the
// pending occurrence may be missing, as may one whose worker dies.
func (s *Store) Series(ctx context.Context, prefix string) iter.Seq2[Series, error] {
	series := func(yield func([]backend.Row, error) bool) {
		for rows, err := range backend.Pages(ctx, s.backend, prefix, false) {
			rows = slices.DeleteFunc(rows, func(r backend.Row) bool { return r.Every == "" || r.Detached })
			if !yield(rows, err) {
				return
			}
		}
	}
	return sequence("Series", prefix, series, func(r *backend.Row) (Series, error) {
		e, err := entryOf(r)
		last, damage := decodeRun(r.Last)
		return Series{e, last}, cmp.Or(err, damage)
	}, func(ref backend.Ref) Series { return Series{Entry: Entry{Key: ref.Key}} })
}

// sequence returns the decoded rows of pages, and errors with their names. torn returns the element beside the error of
// a damaged row that ends a page.
func sequence[R interface{ Ref() backend.Ref }, T any](name, prefix string, pages iter.Seq2[[]R, error],
	decode func(*R) (T, error), torn func(backend.Ref) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for rows, unreadErr := range pages {
			for i := range rows {
				v, err := decode(&rows[i])
				if err != nil {
					err = wrap(name, rows[i].Ref().Key, err)
				}
				if !yield(v, err) {
					return
				}
			}
			if unreadErr != nil {
				ref, err := unread(name, prefix, unreadErr)
				if !yield(torn(ref), err) {
					return
				}
			}
		}
	}
}
