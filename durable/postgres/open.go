package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hashedwheel/hwt/durable"
)

// Store is a store in a schema of a database.
type Store struct {
	*durable.Store
	backend *postgresBackend
}

// Open opens the store in a schema of the pool's database, and creates or upgrades its
// tables. The pool stays the caller's: [durable.Store.Close] leaves it open.
//
// The pool needs four connections or more, and one more per concurrent handler that uses it:
// heartbeats wait for a connection, too, and a lease that is renewed too late ends. A handler
// needs a second one to call the store inside its transaction. Another connection, outside
// of the pool, listens.
//
// Open waits for an unreachable server until ctx ends. It names privileges that the
// role lacks, and rejects tables of a later version that this package cannot read.
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
