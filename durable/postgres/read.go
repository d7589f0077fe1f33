package postgres

import (
	"context"
	"math"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Now implements [backend.Backend].
func (b *postgresBackend) Now(ctx context.Context) (time.Time, error) {
	var now int64
	err := b.insist(ctx, func(ctx context.Context) error {
		return b.simple(ctx, query(into(&now), "SELECT "+clock))
	})
	return time.Unix(0, now), err
}

// Get implements [backend.Backend].
func (b *postgresBackend) Get(ctx context.Context, key string) (backend.Row, error) {
	rows, err := b.readRows(ctx, getSQL, []byte(key))
	if err == nil && len(rows) == 0 {
		err = backend.ErrNotFound
	}
	if err != nil {
		return backend.Row{}, err
	}
	return rows[0], nil
}

// Page implements [backend.Backend].
func (b *postgresBackend) Page(ctx context.Context, prefix string, after backend.Cursor, most int, claimed bool) ([]backend.Row, error) {
	return b.readRows(ctx, pageSQL, append(span(prefix, after.Key, after.Slot), int64(most), claimed)...)
}

func (b *postgresBackend) readRows(ctx context.Context, sql string, args ...any) (rows []backend.Row, err error) {
	err = b.insist(ctx, func(ctx context.Context) error {
		rows = nil
		return b.simple(ctx, query(scanRows(&rows), sql, args...))
	})
	return rows, err
}

// DeadPage implements [backend.Backend].
func (b *postgresBackend) DeadPage(ctx context.Context, prefix string, after backend.Ref, most int) (letters []backend.Dead, err error) {
	err = b.insist(ctx, func(ctx context.Context) error {
		letters = nil
		return b.simple(ctx, query(func(scan scanner) error {
			d, err := scanDead(scan)
			if err == nil {
				letters = append(letters, d)
			}
			return err
		}, deadPageSQL, append(span(prefix, after.Key, after.Generation), int64(most))...))
	})
	return letters, err
}

// span returns the position behind which a page begins, which is not before the prefix: an index
// scan begins there. The third argument is the end of the prefix.
func span(prefix, key string, position uint64) []any {
	at := int64(position)
	if key < prefix {
		key, at = prefix, math.MinInt64
	}
	return []any{[]byte(key), at, prefixEnd(prefix)}
}

// prefixEnd returns the first key after all keys with the prefix, or nil if no key follows.
func prefixEnd(prefix string) any {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) == 0 {
		return nil
	}
	end[len(end)-1]++
	return end
}
