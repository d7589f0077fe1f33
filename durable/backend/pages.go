package backend

import (
	"cmp"
	"context"
	"errors"
	"iter"
)

const (
	firstPage = 16
	pageSize  = 500
	pageBytes = 16 << 20 // of payloads
)

// nextSize returns the size of the page after one of n rows. The size of payloads shows only once
// they are read: pages begin small, and each is up to twice as large as the one before.
func nextSize(n int, rows []Row) int {
	bytes := 0
	for i := range rows {
		bytes += len(rows[i].Payload)
	}
	if bytes > pageBytes {
		return max(n/2, 1)
	}
	return min(2*n, pageSize)
}

// Pages yields the rows that [Pager.Page] finds, page by page. A page may come with the
// [*Damage] of the row behind it. Any other error comes alone and last.
//
// Pages reads on behind a damaged row, unless its key is so damaged that it does not follow
// the rows before it: Pages would read the same rows again, without end.
func Pages(ctx context.Context, b Pager, prefix string, claimed bool) iter.Seq2[[]Row, error] {
	return func(yield func([]Row, error) bool) {
		var after Cursor
		for n := firstPage; ; {
			rows, err := b.Page(ctx, prefix, after, n, claimed)
			damage := (*Damage)(nil)
			if err != nil && !errors.As(err, &damage) {
				yield(nil, err)
				return
			}
			more := len(rows) == n
			n = nextSize(n, rows)
			if len(rows) > 0 {
				last := &rows[len(rows)-1]
				after = Cursor{Key: last.Key, Slot: last.Slot()}
			}
			if damage != nil {
				more = after.Before(damage.Key, damage.Slot)
				after = Cursor{Key: damage.Key, Slot: damage.Slot}
			}
			if (len(rows) > 0 || err != nil) && !yield(rows, err) || !more {
				return
			}
		}
	}
}

// Before reports whether c is before a row in the order of keys and slots. Databases keep slots
// as an int64, and a damaged one may be negative.
func (c Cursor) Before(key string, slot uint64) bool {
	return cmp.Or(cmp.Compare(c.Key, key), cmp.Compare(int64(c.Slot), int64(slot))) < 0
}
