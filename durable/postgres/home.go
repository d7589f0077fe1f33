package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// home is a server between two crashes or failovers. Within one home, a transaction ID belongs to one
// transaction.
type home struct {
	era      string // changes after a crash
	timeline string // changes after a failover; "" if the server does not report it
}

// An era of a server begins when its statistics do: at its first start, and after each
// crash. Transactions whose log a crash has lost leave their IDs to later ones.
const era = `(SELECT coalesce(extract(epoch FROM stats_reset), 0)::text FROM pg_stat_bgwriter)`

// timeline is NULL on a standby, which may become a primary.
const timeline = `CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END`

// homeOf returns the home of a connection. It asks the server before the first transaction of a
// connection, which ends with its home: reading the server's statistics is slow on PostgreSQL 14.
// Amazon Aurora does not report its timeline, and a hardened server may forbid each of these
// functions. Then the outcome is unknown for a transaction whose answer to COMMIT is lost.
func (b *postgresBackend) homeOf(ctx context.Context, conn *pgxpool.Conn) (home, error) {
	const key = "hwt home"
	known := conn.Conn().PgConn().CustomData()
	if h, ok := known[key].(home); ok {
		return h, nil
	}
	var h home
	var line *string
	var flush int64
	ctx, cancel := context.WithTimeout(ctx, b.options.Timeout)
	defer cancel()
	q := pgxQuerier{conn, b.text}
	for _, s := range []stmt{
		query(into(&h.era, &flush), "SELECT "+era+", (extract(epoch FROM current_setting('wal_writer_delay')::interval) * 1000000000)::int8"),
		query(into(&line), "SELECT "+timeline),
	} {
		if err := q.run(ctx, s); err != nil && (sqlState(err) == "" || passes(err)) {
			return h, err
		}
	}
	if line != nil {
		h.timeline = *line
	}
	b.acks.arrive(h.era, time.Duration(flush))
	known[key] = h
	return h, nil
}
