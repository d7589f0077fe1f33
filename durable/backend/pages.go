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
)

// BatchBytes is the size of payloads at which a page, or a batch of leased rows, ends. It bounds the
// memory of a call.
const BatchBytes = 4 << 20

// Payloads returns the size of the payloads of rows.
func Payloads(rows []Row) (bytes int64) {
	for i := range rows {
		bytes += int64(len(rows[i].Payload))
	}
	return bytes
}

// Pages yields the rows that [Pager.Page] finds, page by page. A page may come with the
// [*Damage] of the row behind it. Any other error comes alone and last.
//
// Pages reads on behind a damaged row, unless its key is so damaged that it does not follow
// the rows before it: Pages would read the same rows again, without end.
func Pages(ctx context.Context, b Pager, prefix string, claimed bool) iter.Seq2[[]Row, error] {
	return pages(func(after Cursor, n int) ([]Row, error) { return b.Page(ctx, prefix, after, n, claimed) },
		func(r *Row) Cursor { return Cursor{Key: r.Key, Slot: r.Slot()} },
		func(d *Damage) Cursor { return Cursor{Key: d.Key, Slot: d.Slot} })
}

// DeadPages is Pages for the dead letters that [Backend.DeadPage] finds.
func DeadPages(ctx context.Context, b Backend, prefix string) iter.Seq2[[]Dead, error] {
	return pages(func(after Cursor, n int) ([]Dead, error) {
		return b.DeadPage(ctx, prefix, Ref{Key: after.Key, Generation: after.Slot}, n)
	},
		func(d *Dead) Cursor { return Cursor{Key: d.Key, Slot: d.Generation} },
		func(d *Damage) Cursor { return Cursor{Key: d.Key, Slot: d.Generation} })
}

// pages calls read for page after page. Pages begin small, for loops that end early.
func pages[R any](read func(after Cursor, n int) ([]R, error), at func(*R) Cursor, damagedAt func(*Damage) Cursor) iter.Seq2[[]R, error] {
	return func(yield func([]R, error) bool) {
		var after Cursor
		for n := firstPage; ; n = min(2*n, pageSize) {
			rows, err := read(after, n)
			damage := (*Damage)(nil)
			if err != nil && !errors.As(err, &damage) {
				yield(nil, err)
				return
			}
			more := len(rows) > 0
			if more {
				after = at(&rows[len(rows)-1])
			}
			if damage != nil {
				behind := damagedAt(damage)
				more = after.Before(behind.Key, behind.Slot)
				after = behind
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

// PrefixEnd returns the first key after all keys that start with prefix, or "" if no key follows.
func PrefixEnd(prefix string) string {
	for last := len(prefix) - 1; last >= 0; last-- {
		if prefix[last] < 0xff {
			return prefix[:last] + string([]byte{prefix[last] + 1})
		}
	}
	return ""
}
