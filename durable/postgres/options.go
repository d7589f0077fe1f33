package postgres

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// Options are the settings of a store in PostgreSQL. The zero value of each field is
// its default.
type Options struct {
	durable.Options

	// Schema holds the store's tables: 1 to 40 bytes without a zero byte. "" is the
	// default, "hwt". Stores in different schemas are independent.
	Schema string

	// MustExist makes Open return durable.ErrNoStore instead of creating or
	// upgrading the tables.
	MustExist bool

	// PollOnly replaces LISTEN by polling every half second. PgBouncer in transaction
	// mode requires it. Other processes still receive notifications.
	PollOnly bool

	// QuietTx keeps the methods of a Tx from calling pg_notify in the caller's transaction.
	// A notifying transaction holds a lock on the whole database during its commit, and fails while
	// the server's queue of notifications is full. Workers
	// then find the entry by polling: within half a second if they set QuietTx or PollOnly,
	// too, and within five seconds otherwise.
	QuietTx bool

	// MaxBytes limits the disk space of the tables and indexes. Above the limit, Set,
	// Create, Ensure, and SetMany return durable.ErrFull. All other methods still work. The space of fired
	// entries is reused, but counts until VACUUM FULL releases it. The default, 0, means no
	// limit.
	MaxBytes int64

	// Timeout is the time that one round trip may take before its connection counts as
	// lost, 100 ms to 1 min. 0 is the default, 10 s.
	//
	// PostgreSQL, in turn, ends a transaction of the store if its client is silent for this
	// time.
	//
	// Timeout does not bound a whole call. Until its context ends, a call waits for locked
	// rows, for a connection, and for a server that is down. A wait for a lock is abandoned
	// after 100 ms, or after half a second if the call runs alone, and then retried. Because
	// PostgreSQL times each lock separately, one attempt may wait for several locks, up to
	// Timeout. In the caller's transaction, only the context and lock_timeout bound the
	// wait.
	Timeout time.Duration
}

func (o *Options) complete() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Schema == "" {
		c.Schema = "hwt"
	}
	if len(c.Schema) > 40 || strings.ContainsRune(c.Schema, 0) {
		return c, refuse("Schema", fmt.Sprintf("%q", c.Schema), "1 to 40 bytes without a zero byte")
	}
	if c.MaxBytes < 0 {
		return c, refuse("MaxBytes", c.MaxBytes, "0 for no limit, or 1 or more")
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Timeout < 100*time.Millisecond || c.Timeout > time.Minute {
		return c, refuse("Timeout", c.Timeout, "0 for the default, or 100ms to 1m")
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

func refuse(field string, value any, expected string) error {
	return fmt.Errorf("postgres: %w: Options.%s: %v (expected: %s)", backend.ErrInvalid, field, value, expected)
}
