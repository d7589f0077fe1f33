package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/hashedwheel/hwt/durable/backend"
)

// trouble is the reason why calls wait for the database.
type trouble struct {
	backend.Trouble              // all of it
	logger          *slog.Logger // Immutable.

	mu   sync.Mutex
	last error // since the last success. Guarded by mu.
}

// note keeps an error after which a call tries again. Conflicts with other transactions are no
// trouble. A handler of the logger may call Apply, and wait for the lane that has the error.
func (t *trouble) note(err error) {
	if waited(err) || errors.Is(err, errMissed) || errors.Is(err, errAbandoned) {
		return
	}
	t.mu.Lock()
	t.last = err
	t.mu.Unlock()
	t.NoteApart(t.logger, "durable: waiting for the database; retrying", cause(err), err)
}

// over notes a success.
func (t *trouble) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = nil
}

// err returns the last error, or nil after a success.
func (t *trouble) err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// cause returns the SQLSTATE of an error, or its text without the numbers of ports.
func cause(err error) string {
	if code := sqlState(err); code != "" {
		return code
	}
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, err.Error())
}

// ended returns the error of a call with a context that has ended during the wait for the
// database.
func ended(ctx context.Context, last error) error {
	if last == nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), last)
}
