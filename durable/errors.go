package durable

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Errors of a [Store]. They are wrapped with the operation and the key; test for them
// with [errors.Is]. After any other error of an operation that writes, including a
// context's, the operation may have taken place, or may take place after the call has returned.
// It never takes place twice.
var (
	// ErrExists is returned by Create if the key has a pending entry, and by Requeue if
	// the key of the dead letter has one.
	ErrExists = backend.ErrExists

	// ErrNotFound is returned if the key has no pending entry, by Requeue and
	// Discard if there is no dead letter of that key and generation, and by Resume and RemoveLimit if
	// the scope has no pause or no limit.
	ErrNotFound = backend.ErrNotFound

	// ErrFired is returned if a worker has claimed the key's entry: its handler has run,
	// runs, or will run. The entry may be retried.
	ErrFired = backend.ErrFired

	// ErrConflict is returned by Set, Move, and Cancel with [Entries.If] if the pending entry has
	// another generation.
	ErrConflict = backend.ErrConflict

	// ErrFull is returned by Set, Create, Ensure, and SetMany while the store is near its size
	// limit, even if they would replace an entry. Cancel, Move, Requeue, and firing still
	// work. While the disk is full, every operation that needs space returns ErrFull.
	ErrFull = backend.ErrFull

	// ErrClosed is returned after Close has released the database: calls still succeed
	// while a Work drains. It is also returned after the database has closed itself.
	ErrClosed = backend.ErrClosed

	// ErrInvalid is returned for an argument out of range. Its text names the argument,
	// the value, and the range.
	ErrInvalid = backend.ErrInvalid

	// ErrLeaseLost is the cause of the end of a handler's context after the worker's
	// lease could not be renewed, and the error of [Tx.Done] in that case. Another worker
	// then fires the entry again with the same ID.
	ErrLeaseLost = backend.ErrLeaseLost

	// ErrTimeout is the cause of the end of a handler's context at the end of WorkOptions.Timeout.
	// It wraps [context.DeadlineExceeded].
	ErrTimeout = fmt.Errorf("the time limit of the attempt has passed: %w", context.DeadlineExceeded)

	// ErrDamaged is returned for an entry with a checksum that does not match. An operation may
	// return it if any entry of its key is damaged, even a waiting retry. Cancel deletes the
	// damaged entries of their key instead, and Discard the dead letter. [Store.All] finds
	// damaged pending entries, and [Store.Dead] damaged dead letters. The command hwtdurable
	// verify also finds damaged entries that a worker has claimed.
	ErrDamaged = backend.ErrDamaged

	// ErrNoStore is returned by Open with the option MustExist if the file or the schema has no
	// store. On PostgreSQL, tables of an older version count as missing.
	ErrNoStore = backend.ErrNoStore
)

func wrap(operation, key string, err error) error {
	return fmt.Errorf("durable: %s %.64q: %w", operation, key, err)
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

// unread returns the error of a page that was not read to its end, and the name of the
// damaged row or dead letter that ends it, if there is one.
func unread(name, prefix string, err error) (backend.Ref, error) {
	if damage := (*backend.Damage)(nil); errors.As(err, &damage) {
		return damage.Ref, wrap(name, damage.Key, err)
	}
	return backend.Ref{}, wrap(name, prefix, err)
}
