package durable

import (
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
