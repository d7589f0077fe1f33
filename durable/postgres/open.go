package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hashedwheel/hwt/durable"
)

// Store is a store in a schema of a database.
type Store struct {
	*durable.Store
	backend *postgresBackend
}

// Open opens the store in a schema of the pool's database, and creates or upgrades the
// tables. The pool stays the caller's: [durable.Store.Close] leaves it open.
//
// The pool needs four connections or more, and one more per concurrent handler that uses the
// pool: heartbeats wait for a connection, too, and a lease that is renewed too late ends. A
// handler needs a second connection to call methods of the Store, rather than of a Tx, while its
// transaction is open. Another connection, outside of the pool, listens.
//
// Open waits for an unreachable server until ctx ends. Open names privileges that the role
// lacks, and rejects tables of a later version that this package cannot read.
func Open(ctx context.Context, pool *pgxpool.Pool, options *Options) (*Store, error) {
	b, err := newBackend(ctx, pool, options)
	if err != nil {
		return nil, err
	}
	store, err := durable.New(ctx, b, &b.options.Options)
	if err != nil {
		b.Close()
		return nil, err
	}
	return &Store{store, b}, nil
}

// Verify compares the sequences of the store with the rows. Verify returns an error that wraps
// durable.ErrDamaged and names the sequences that are behind, or nil. Verify reads all rows, and
// verifies no checksums: [durable.Store.All] and [durable.Store.Dead] do.
func (s *Store) Verify(ctx context.Context) error {
	var behind []sequence
	b := s.backend
	err := b.insist(ctx, func(ctx context.Context) error {
		behind = nil
		return b.inTx(ctx, b.settings(batchWait, false), func(t *txn) error {
			return t.run(ctx, query(nil, `SELECT set_config('statement_timeout', '0', true)`), query(behindOf(&behind), behindSQL))
		})
	})
	for _, q := range behind {
		err = errors.Join(err, fmt.Errorf("%w: the sequence %s is behind the value %d of its rows; move it with setval while no worker runs",
			durable.ErrDamaged, q.name, q.rows))
	}
	if err != nil {
		err = fmt.Errorf("postgres: Verify: %w", err)
	}
	return err
}
