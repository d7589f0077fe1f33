package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
)

// server is a transaction on a server that answers each query with its release.
type server struct {
	pgx.Tx
	number int
	name   string
}

func (s server) QueryRow(context.Context, string, ...any) pgx.Row { return s }

func (s server) Scan(dest ...any) error {
	*dest[len(dest)-2].(*int), *dest[len(dest)-1].(*string) = s.number, s.name
	return nil
}

func TestOldReleaseGetsNoTables(t *testing.T) {
	err := preparer{}.migrate(t.Context(), server{number: 13_00_21, name: "13.21 (Debian 13.21-1.pgdg12+1)"})
	require.ErrorIs(t, err, backend.ErrInvalid)
	require.ErrorContains(t, err, "PostgreSQL 13.21 (Debian 13.21-1.pgdg12+1) (expected: 14 or later)")
}

// An error that passes repeats a transaction; one that concerns a row splits its batch; one that may be a
// conflict over a row makes a batch pass over it.
func TestCodeDecidesAboutTheNextTry(t *testing.T) {
	for code, c := range map[string]struct{ passes, row, waited bool }{
		"08006": {true, true, false},   // connection failure
		"57P01": {true, true, false},   // admin shutdown
		"57P03": {true, true, false},   // cannot connect now
		"25006": {true, true, false},   // read-only transaction
		"25P03": {true, true, false},   // idle in a transaction
		"53300": {true, false, false},  // too many connections
		"40001": {true, true, true},    // serialization failure
		"40P01": {true, true, true},    // deadlock
		"55P03": {true, true, true},    // lock not available
		"57014": {true, true, true},    // cancelled
		"25P04": {true, true, true},    // transaction timeout
		"23505": {false, true, false},  // unique violation
		"22021": {false, true, false},  // character not in repertoire
		"54000": {false, true, false},  // program limit exceeded
		"58030": {false, true, false},  // IO error
		"P0001": {false, true, false},  // raised by a trigger
		"XX001": {false, true, false},  // data corrupted
		"26000": {false, false, false}, // no such prepared statement
		"28P01": {false, false, false},
		"3D000": {false, false, false}, // no such database
		"3F000": {false, false, false}, // no such schema
		"42501": {false, false, false}, // insufficient privilege
		"42P01": {false, false, false}, // no such table
		"53100": {false, false, false}, // disk full
	} {
		t.Run(code, func(t *testing.T) {
			err := fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code})
			require.Equal(t, c.passes, passes(err), "passes")
			require.Equal(t, c.row, concernsRow(err), "concernsRow")
			require.Equal(t, c.waited, waited(err), "waited")
			require.ErrorIs(t, described(err), err)
			require.Equal(t, code == "53100", errors.Is(described(err), backend.ErrFull))
			require.Equal(t, code == "XX001", errors.Is(described(err), backend.ErrDamaged))
		})
	}
}

func TestErrorWithoutACodeDecidesByItsKind(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		passes bool
	}{
		"a broken connection":    {errors.New("unexpected EOF"), true},
		"no connection":          {fmt.Errorf("%w: %w", errPool, context.DeadlineExceeded), true},
		"a row that appeared":    {errMissed, true},
		"a rollback":             {errAborted, true},
		"a caller that left":     {errAbandoned, true},
		"an unknown outcome":     {errUnknown, false},
		"a missing privilege":    {fmt.Errorf("%w: x", errLacks), false},
		"an unreadable answer":   {pgx.ScanArgError{Err: errors.New("x")}, false},
		"slow rows":              {errSlow, false},
		"a lost lease":           {backend.ErrLeaseLost, false},
		"an invalid argument":    {backend.ErrInvalid, false},
		"damage":                 {backend.ErrDamaged, false},
		"a closed store":         {backend.ErrClosed, false},
		"a store that is absent": {backend.ErrNoStore, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.passes, passes(c.err))
			require.False(t, concernsRow(c.err))
			require.False(t, waited(c.err))
		})
	}
}

// The server gives up the wait for a locked row before Options.Timeout counts the connection as lost. A lane would
// try again, and wait there, until the row is unlocked.
func TestLockTimeoutIsHalfOfTimeoutAtMost(t *testing.T) {
	for timeout, want := range map[time.Duration]string{100 * time.Millisecond: "50ms", 10 * time.Second: "500ms"} {
		s := newSession(nil, Options{Timeout: timeout})
		defer s.end()
		require.Equal(t, want, s.settings(patientWait, false)[0].args[0])
	}
}
