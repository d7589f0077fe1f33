package durable

import "errors"

// Errors of a [Store]. They are wrapped with the operation and the key; test for
// them with [errors.Is]. Any other error of an operation that writes, including
// a context's, leaves open whether the write took place.
var (
	// ErrExists is returned by Create if the key has a pending timer.
	ErrExists = errors.New("a timer of this key is pending")

	// ErrNotFound is returned if the key has no pending timer, and by Requeue and
	// Discard if it has no dead letter of the generation.
	ErrNotFound = errors.New("no timer of this key is pending")

	// ErrFired is returned if the key's timer was claimed by a worker: it fires,
	// or is firing.
	ErrFired = errors.New("the timer has fired")

	// ErrConflict is returned by SetIf, MoveIf and CancelIf if the key's pending
	// timer has another generation.
	ErrConflict = errors.New("the pending timer has another generation")

	// ErrFull is returned by operations that add a timer while the store uses
	// more than 80 % of its space. Cancel, Move and firing go on.
	ErrFull = errors.New("the store is more than 80 % full")

	// ErrClosed is returned after Close.
	ErrClosed = errors.New("the store is closed")

	// ErrForeignStream is returned by Open if a stream of the store's name exists
	// that no store of this package made, or one of another format or layout: one
	// left of a creation that was cut short, with other options.
	ErrForeignStream = errors.New("the stream is not this store's")

	// ErrNoStore is returned by Open with Options.MustExist if there is no store of
	// the name.
	ErrNoStore = errors.New("there is no such store")

	// ErrInvalid is returned for an argument that is out of range. The error's
	// text names it.
	ErrInvalid = errors.New("invalid argument")

	// ErrLeaseLost is the cause of the end of a handler's context if the lease
	// on its timer could not be renewed. Another worker may then fire it again,
	// with the same ID.
	ErrLeaseLost = errors.New("durable: the lease of the timer was lost")
)

// What the publisher reports; operations turn them into the errors above.
var (
	errWrongSequence = errors.New("another write came first")
	errUnavailable   = errors.New("no answer from the server")
	errNoSpace       = errors.New("the server has no space left")
)
