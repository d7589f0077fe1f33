package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/hashedwheel/hwt/durable/backend"
)

// batchBytes is the size of the payloads that end a batch of SetMany.
const batchBytes = 16 << 20

// SetMany sets the Key, Due, NotAfter, Payload, and Every of each entry of seq, as Set
// does, in large batches. It returns the number of stored entries. The first error ends
// it; entries before the failed one are stored. Entries with equal keys are set in order.
func (s *Store) SetMany(ctx context.Context, seq iter.Seq[Entry]) (int, error) {
	stored, bytes := 0, 0
	batch := make([]backend.Op, 0, s.limits.MaxBatch)
	flush := func() error {
		n, err := s.setBatch(ctx, batch)
		stored += n
		batch, bytes = batch[:0], 0
		return err
	}
	for e := range seq {
		row, err := s.row(e)
		if err != nil {
			err = errors.Join(wrap("SetMany", e.Key, err), flush())
			return stored, err
		}
		batch = append(batch, backend.Op{Kind: backend.Set, Row: row})
		if bytes += len(row.Payload); bytes >= batchBytes || len(batch) == cap(batch) {
			if err := flush(); err != nil {
				return stored, err
			}
		}
	}
	err := flush()
	return stored, err
}

func (s *Store) setBatch(ctx context.Context, ops []backend.Op) (stored int, err error) {
	if len(ops) == 0 {
		return 0, nil
	}
	results, err := s.applyAll(ctx, nil, ops)
	if err != nil {
		return 0, fmt.Errorf("durable: SetMany: %w", err)
	}
	for i, r := range results {
		if r.Err == nil {
			stored++
		} else if err == nil {
			err = wrap("SetMany", ops[i].Row.Key, r.Err)
		}
	}
	return stored, err
}

// CancelMany cancels all pending entries whose keys start with prefix, in batches, and
// returns their number. Entries that are claimed or set meanwhile may be left out. If there
// are damaged entries, CancelMany cancels the others, and returns an error that wraps
// ErrDamaged and names the first damaged key. Any other error ends it.
//
// A damaged entry stays, unless it has the key of one that is cancelled: see Cancel. If the
// key itself is damaged, CancelMany may leave out intact entries, as All does.
func (s *Store) CancelMany(ctx context.Context, prefix string) (int, error) {
	cancelled := 0
	var damaged error
	for rows, unreadErr := range backend.Pages(ctx, s.backend, prefix, false) {
		ops := make([]backend.Op, len(rows))
		for i, r := range rows {
			ops[i] = backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: r.Key}, If: r.Generation}
		}
		for len(ops) > 0 {
			results, err := s.applyAll(ctx, nil, ops)
			if err != nil {
				return cancelled, fmt.Errorf("durable: CancelMany %.64q: %w", prefix, err)
			}
			var again []backend.Op
			for i, r := range results {
				switch {
				case r.Err == nil:
					cancelled++
				case errors.Is(r.Err, ErrDamaged) && ops[i].If != 0: // another row of the key is damaged
					damaged = cmp.Or(damaged, wrap("CancelMany", ops[i].Row.Key, r.Err))
					ops[i].If = 0
					again = append(again, ops[i])
				case !errors.Is(r.Err, ErrNotFound) && !errors.Is(r.Err, ErrFired) && !errors.Is(r.Err, ErrConflict):
					return cancelled, wrap("CancelMany", ops[i].Row.Key, r.Err)
				}
			}
			ops = again
		}
		if unreadErr != nil {
			ref, err := unread("CancelMany", prefix, unreadErr)
			if ref.Key == "" {
				return cancelled, err
			}
			damaged = cmp.Or(damaged, err)
		}
	}
	return cancelled, damaged
}
