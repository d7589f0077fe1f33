package sqlite

import (
	"cmp"
	"context"
	"math"
	"os"
	"slices"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Get implements backend.Backend.
func (b *sqliteBackend) Get(ctx context.Context, key string) (row backend.Row, err error) {
	err = b.read(ctx, func(c *conn) error {
		row, err = c.get(key)
		return err
	})
	return row, err
}

func (c *conn) get(key string) (row backend.Row, err error) {
	err = backend.ErrNotFound
	failed := c.query("SELECT " + columns + " FROM hwt_entries AS t WHERE key = ? AND slot = 0").blob(key).each(func(q *query) error {
		row, err = scan(q)
		return err
	})
	return row, cmp.Or(failed, err)
}

// Page implements backend.Backend.
func (b *sqliteBackend) Page(ctx context.Context, prefix string, after backend.Cursor, n int, claimed bool) (rows []backend.Row, err error) {
	err = b.read(ctx, func(c *conn) error {
		rows, err = c.page(prefix, after, n, claimed)
		return err
	})
	return rows, err
}

func (c *conn) page(prefix string, after backend.Cursor, n int, claimed bool) ([]backend.Row, error) {
	sql := "SELECT " + columns + ` FROM hwt_entries AS t
		WHERE (key, slot) > (?, ?) AND (?3 IS NULL OR key < ?3)`
	if !claimed {
		sql += " AND (holder = 0 OR NOT " + heldWell + ")"
	}
	sql += " ORDER BY key, slot LIMIT ?"
	return page(c.query(sql).from(prefix, after.Key, after.Slot).blob(backend.PrefixEnd(prefix)).int(int64(n)), scan,
		func(r *backend.Row) []byte { return r.Payload })
}

// DeadPage implements backend.Backend.
func (b *sqliteBackend) DeadPage(ctx context.Context, prefix string, after backend.Ref, n int) (letters []backend.Dead, err error) {
	sql := "SELECT " + deadColumns + ` FROM hwt_dead AS t
		WHERE (key, gen) > (?, ?) AND (?3 IS NULL OR key < ?3)
		ORDER BY key, gen LIMIT ?`
	err = b.read(ctx, func(c *conn) error {
		letters, err = page(c.query(sql).from(prefix, after.Key, after.Generation).blob(backend.PrefixEnd(prefix)).int(int64(n)), scanDead,
			func(d *backend.Dead) []byte { return d.Payload })
		return err
	})
	return letters, err
}

// page scans the rows of the result, up to an error or to the row at which the payloads reach
// BatchBytes.
func page[T any](q *query, scan func(*query) (T, error), payload func(*T) []byte) (rows []T, err error) {
	bytes := 0
	err = q.each(func(q *query) error {
		row, err := scan(q)
		if err != nil {
			return err
		}
		rows = append(rows, row)
		if bytes += len(payload(&row)); bytes >= backend.BatchBytes {
			return errEnough
		}
		return nil
	})
	return rows, err
}

// from binds the position after which a page of a prefix begins. With the prefix as a second
// lower bound, SQLite would search the index by that one, and read all earlier pages again.
func (q *query) from(prefix, key string, n uint64) *query {
	if key < prefix {
		return q.bytesOf(prefix).int(math.MinInt64)
	}
	return q.bytesOf(key).int(int64(n))
}

// Stats implements backend.Backend.
func (b *sqliteBackend) Stats(ctx context.Context, due []int64) (st backend.Stats, err error) {
	err = b.read(ctx, func(c *conn) error {
		st = backend.Stats{Limit: b.options.MaxBytes}
		err := c.query("SELECT pending, claimed, dead FROM hwt_store").each(func(q *query) error {
			st.Pending, st.Claimed, st.Dead = q.s.ColumnInt64(0), q.s.ColumnInt64(1), q.s.ColumnInt64(2)
			return nil
		})
		if err != nil {
			return err
		}
		stopped, err := pauses(c)
		st.Pauses = int64(len(stopped))
		switch {
		case err != nil:
		case covered(stopped, &backend.Lane{}):
			st.Due = make([]int64, len(due))
		case len(stopped) > 0:
			st.Oldest, st.Due, err = pendingBesidePauses(c, due)
		default:
			st.Oldest, err = c.query("SELECT due FROM hwt_entries INDEXED BY hwt_due WHERE holder = 0 ORDER BY due LIMIT 1").integer()
			if err == nil {
				st.Due, err = c.pendingBefore(due, st.Claimed)
			}
		}
		if err != nil {
			return err
		}
		st.Bytes, err = c.used()
		return err
	})
	if wal, err := os.Stat(b.path + "-wal"); err == nil {
		st.Bytes += wal.Size()
	}
	return st, err
}

// pendingBefore counts the pending rows due before each of the times. The index alone has the
// counts of all rows. It subtracts the claimed rows, because they are among the first.
func (c *conn) pendingBefore(due []int64, claimed int64) (counts []int64, err error) {
	var taken []int64
	err = c.query(`SELECT due FROM (SELECT due, holder, sum FROM hwt_entries INDEXED BY hwt_due ORDER BY due, key, slot LIMIT ?1)
		WHERE holder > 0 AND ` + heldWell + ` LIMIT ?2`).int(backend.CountLimit + claimed).int(claimed).each(func(q *query) error {
		taken = append(taken, q.s.ColumnInt64(0))
		return nil
	})
	for i := 0; i < len(due) && err == nil; i++ {
		var n int64
		n, err = c.query("SELECT count(*) FROM (SELECT 1 FROM hwt_entries INDEXED BY hwt_due WHERE due < ? LIMIT ?)").
			int(due[i]).int(backend.CountLimit + claimed).integer()
		before, _ := slices.BinarySearch(taken, due[i])
		counts = append(counts, min(max(n-int64(before), 0), backend.CountLimit))
	}
	return counts, err
}

// pendingBesidePauses returns the first due time of the rows that are not paused, and their numbers before
// each of the times.
func pendingBesidePauses(c *conn, due []int64) (oldest int64, counts []int64, err error) {
	counts = make([]int64, len(due))
	err = c.query(`SELECT due FROM (SELECT key, grp, due FROM hwt_entries INDEXED BY hwt_due WHERE holder = 0 ORDER BY due, key, slot LIMIT ?) AS t
		WHERE NOT ` + paused).int(2 * backend.CountLimit).each(func(q *query) error {
		at := q.s.ColumnInt64(0)
		oldest = cmp.Or(oldest, at)
		for i := range due {
			if at < due[i] && counts[i] < backend.CountLimit {
				counts[i]++
			}
		}
		return nil
	})
	return oldest, counts, err
}

// used returns the bytes of the pages that are in use.
func (c *conn) used() (int64, error) {
	return c.query(`SELECT (page_count - freelist_count) * page_size
		FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).integer()
}
