package postgres

import (
	"bytes"
	"context"
	"math"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// reader reads rows and dead letters.
type reader struct{ *session }

// Now implements [backend.Backend].
func (r reader) Now(ctx context.Context) (time.Time, error) {
	var now int64
	err := r.insist(ctx, func(ctx context.Context) error {
		return r.simple(ctx, query(into(&now), "SELECT "+clock))
	})
	return time.Unix(0, now), err
}

// Get implements [backend.Backend].
func (r reader) Get(ctx context.Context, key string) (backend.Row, error) {
	return first(read(ctx, r, scanEntry, getSQL, func() []any { return []any{[]byte(key)} }))
}

// first returns the only row of a result, or ErrNotFound.
func first(rows []backend.Row, err error) (row backend.Row, _ error) {
	if err == nil && len(rows) == 0 {
		err = backend.ErrNotFound
	}
	if err == nil {
		row = rows[0]
	}
	return row, err
}

// Overdue implements [backend.Backend].
func (r reader) Overdue(ctx context.Context, before int64) ([]backend.Row, error) {
	return read(ctx, r, func(scan scanner) (row backend.Row, err error) {
		var key, schedule octets
		err = scan(&key, &row.Due, &schedule)
		row.Key, row.Schedule = string(key), string(schedule)
		return row, err
	}, overdueSQL, func() []any { return []any{before, int64(backend.LookLimit)} })
}

// Page implements [backend.Backend].
func (r reader) Page(ctx context.Context, prefix string, after backend.Cursor, most int, claimed bool) ([]backend.Row, error) {
	return read(ctx, r, scanEntry, pageSQL, func() []any { return r.span(prefix, after.Key, after.Slot, most, claimed) })
}

// DeadPage implements [backend.Backend].
func (r reader) DeadPage(ctx context.Context, prefix string, after backend.Ref, most int) ([]backend.Dead, error) {
	return read(ctx, r, scanDead, deadPageSQL, func() []any { return r.span(prefix, after.Key, after.Generation, most) })
}

func scanEntry(scan scanner) (backend.Row, error) { return scanRow(scan) }

// read returns the rows of a query as one reads them. An error comes with the rows before the
// error. args may contain the budget, which a slow line makes smaller.
func read[T any](ctx context.Context, r reader, one func(scanner) (T, error), sql string, args func() []any) (all []T, err error) {
	err = r.insist(ctx, func(ctx context.Context) error {
		all = nil
		begun := time.Now()
		err := r.simple(ctx, query(appending(&all, one), sql, args()...))
		r.budget.adapt(err, time.Since(begun), r.options.Timeout)
		return err
	})
	return all, err
}

// afterAllKeys is greater than every key: keys have 512 bytes at most.
var afterAllKeys = bytes.Repeat([]byte{0xff}, 513)

// span returns the arguments of a page: the position behind which the page begins, no earlier than
// the prefix, so that an index scan begins there; the end of the prefix; the bytes; and the rows.
func (r reader) span(prefix, key string, position uint64, most int, more ...any) []any {
	at := int64(position)
	if key < prefix {
		key, at = prefix, math.MinInt64
	}
	end := afterAllKeys
	if next := backend.PrefixEnd(prefix); next != "" {
		end = []byte(next)
	}
	return append([]any{[]byte(key), at, end, r.budget.bytes(), int64(most)}, more...)
}
