package durable

import (
	"context"
	"iter"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Dead returns the dead letters whose keys start with prefix, ordered by key and
// generation. It reads pages, as All does. For a damaged one, Dead yields an error that wraps
// ErrDamaged beside a DeadLetter that has only the Key and the Generation, for Discard, and
// continues as All does. Any other error ends the sequence.
func (s *Store) Dead(ctx context.Context, prefix string) iter.Seq2[DeadLetter, error] {
	return func(yield func(DeadLetter, error) bool) {
		for page, err := range backend.DeadPages(ctx, s.backend, prefix) {
			for i := range page {
				d, err := deadLetter(&page[i])
				if err != nil {
					err = wrap("Dead", d.Key, err)
				}
				if !yield(d, err) {
					return
				}
			}
			if err != nil {
				ref, err := unread("Dead", prefix, err)
				if !yield(DeadLetter{Entry: Entry{Key: ref.Key, Generation: ref.Generation}}, err) {
					return
				}
			}
		}
	}
}

func deadLetter(d *backend.Dead) (DeadLetter, error) {
	e, err := entryOf(&d.Row)
	if err != nil {
		return DeadLetter{Entry: Entry{Key: d.Key, Generation: d.Generation}}, err
	}
	letter := DeadLetter{Entry: e, ID: firingID(&d.Row), Error: d.Error, GivenUp: time.Unix(0, d.GivenUp).UTC()}
	if d.Error == errTooLate.Error() {
		letter.Reason = Expired
	}
	return letter, nil
}
