package durable

import (
	"context"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// SetTx is Set inside tx, a transaction of the caller on the store's database: the entry
// is stored, and announced to the workers, if and only if tx commits. tx is a pgx.Tx or
// an *sql.Tx for durable/postgres, and a *sqlite.Tx for durable/sqlite. After an error, tx
// remains usable unless the database has aborted it.
func (s *Store) SetTx(ctx context.Context, tx any, key string, due time.Time, payload []byte, options ...SetOption) (Entry, error) {
	return s.put(ctx, &tx, "SetTx", backend.Set, nil, newEntry(key, due, payload, options))
}

// CreateTx is Create inside tx, see SetTx.
func (s *Store) CreateTx(ctx context.Context, tx any, key string, due time.Time, payload []byte, options ...SetOption) (Entry, error) {
	return s.put(ctx, &tx, "CreateTx", backend.Create, nil, newEntry(key, due, payload, options))
}

// MoveTx is Move inside tx, see SetTx.
func (s *Store) MoveTx(ctx context.Context, tx any, key string, due time.Time) (Entry, error) {
	return s.move(ctx, &tx, "MoveTx", key, nil, due)
}

// CancelTx is Cancel inside tx, see SetTx. Its answer is final once tx commits.
func (s *Store) CancelTx(ctx context.Context, tx any, key string) (Entry, error) {
	return s.cancel(ctx, &tx, "CancelTx", key, nil)
}

// checkTx keeps a nil transaction from meaning none.
func (s *Store) checkTx(tx any) error {
	if tx == nil {
		return invalid("transaction nil (expected: %s)", s.limits.Tx)
	}
	return nil
}
