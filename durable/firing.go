package durable

import (
	"context"
	"time"
)

// Handler is called for each entry at its due time. If it returns nil, the entry is done.
// If it returns an error, panics, or calls runtime.Goexit, the entry fires again later
// with the same ID. The context has the values of Work's. It ends when Work stops waiting for
// the handler, or when the worker loses its lease. A handler that then returns an error has not
// failed: see WorkOptions.MaxAttempts.
type Handler func(ctx context.Context, f Firing) error

// Firing is the argument of a [Handler].
//
// An entry fires again, with the same ID, if its worker dies or loses its lease before
// the acknowledgement is stored. If a worker is paused between the last check of its lease
// and the handler, the handler may even run after a Cancel or a Move. To reject such a
// call, a resource compares Generation with the largest one it has seen for the key. If
// handlers return errors and keys recur, it compares with the largest one of the same ID
// instead: a retry has a smaller Generation than a later entry of its key.
type Firing struct {
	Entry

	// ID identifies the firing. All attempts have the same ID, and no two firings share
	// one. A handler that records its effects by ID applies them once.
	ID string

	// Lateness is the time from Due to the call of the handler, on the database's clock.
	Lateness time.Duration

	flight    *flight
	completer *completer
}
