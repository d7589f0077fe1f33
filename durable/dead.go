package durable

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Dead returns the dead letters whose keys start with prefix, ordered by key and
// generation. It reads pages, as All does. An error ends the sequence.
func (s *Store) Dead(ctx context.Context, prefix string) iter.Seq2[DeadLetter, error] {
	return func(yield func(DeadLetter, error) bool) {
		var after backend.Ref
		for {
			page, err := s.backend.DeadPage(ctx, prefix, after, pageSize)
			for i := 0; i < len(page) && err == nil; i++ {
				var d DeadLetter
				if d, err = deadLetter(&page[i]); err == nil && !yield(d, nil) {
					return
				}
			}
			if err != nil {
				yield(DeadLetter{}, fmt.Errorf("durable: Dead %.64q: %w", prefix, err))
				return
			}
			if len(page) < pageSize {
				return
			}
			after = page[len(page)-1].Ref()
		}
	}
}

func deadLetter(d *backend.Dead) (DeadLetter, error) {
	e, err := entryOf(&d.Row)
	return DeadLetter{e, firingID(&d.Row), d.Error, time.Unix(0, d.GivenUp).UTC()}, err
}

// Requeue turns a dead letter into a pending entry that is due now, with the same ID, a
// full number of attempts, and no NotAfter. Of several concurrent calls, one succeeds.
// Requeue returns ErrNotFound if there is no such dead letter, and ErrExists if the key
// has a pending entry. An occurrence of a recurring entry is revived beside its series.
func (s *Store) Requeue(ctx context.Context, key string, generation uint64) (Entry, error) {
	if err := checkKey(key); err != nil {
		return Entry{}, wrap("Requeue", key, err)
	}
	s.clock.refresh(ctx)
	row := backend.Row{Key: key, Due: s.clock.nanos()}
	return s.apply(ctx, nil, "Requeue", backend.Op{Kind: backend.Requeue, Row: row, If: generation})
}

// Discard deletes a dead letter. It returns ErrNotFound if there is no such dead letter.
func (s *Store) Discard(ctx context.Context, key string, generation uint64) error {
	if err := checkKey(key); err != nil {
		return wrap("Discard", key, err)
	}
	_, err := s.apply(ctx, nil, "Discard", backend.Op{Kind: backend.Discard, Row: backend.Row{Key: key}, If: generation})
	return err
}
