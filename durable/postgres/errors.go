package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/puddle/v2"

	"github.com/hashedwheel/hwt/durable/backend"
)

// errMissed reports that another transaction inserted a row after it was looked for.
var errMissed = errors.New("a row appeared meanwhile")

// errUnknown reports that the fate of a transaction cannot be learned.
var errUnknown = errors.New("the outcome of the transaction is unknown: the answer to COMMIT is lost")

// errAbandoned reports that a transaction was rolled back because the context of a call has ended.
var errAbandoned = errors.New("the context of a call has ended")

// errAborted reports that a transaction had no effect.
var errAborted = errors.New("the transaction was rolled back")

// errLacks reports what the role may not do. The condition is permanent: an administrator has to
// grant the privilege.
var errLacks = errors.New("the role lacks")

// errPool reports that no connection became free in time.
var errPool = errors.New("no connection from the pool")

// errExhausted reports why a call may wait.
var errExhausted = errors.New("all connections of the pool are in use")

// exhausted returns errExhausted while the program and the store hold all connections of a pool.
func exhausted(pool *pgxpool.Pool) error {
	if st := pool.Stat(); st.AcquiredConns() < st.MaxConns() {
		return nil
	}
	return errExhausted
}

// slow reports whether a round trip has taken longer than Options.Timeout.
func slow(err error) bool {
	return sqlState(err) == "" && pgconn.Timeout(err) && !errors.Is(err, errPool)
}

// errSlow reports that a transaction on several rows was slow. It may be repeated with fewer.
var errSlow = errors.New("the rows take longer than Options.Timeout")

// divisible returns the error of a transaction on n rows. The error is errSlow if fewer rows
// may succeed.
func divisible(n int, err error) error {
	if n > 1 && slow(err) {
		return fmt.Errorf("%w: %w", errSlow, err)
	}
	return err
}

// sqlState returns the code of a server's error, or "".
func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// passes reports whether a later try of a transaction that failed with err, before its
// COMMIT, may succeed.
func passes(err error) bool {
	if errors.Is(err, errMissed) || errors.Is(err, errAborted) || errors.Is(err, errAbandoned) {
		return true
	}
	if errors.As(err, new(pgx.ScanArgError)) { // an answer that this package does not understand
		return false
	}
	for _, sentinel := range []error{backend.ErrDamaged, backend.ErrInvalid, backend.ErrLeaseLost, backend.ErrClosed,
		backend.ErrNoStore, errUnknown, errLacks, errSlow, puddle.ErrClosedPool} {
		if errors.Is(err, sentinel) {
			return false
		}
	}
	code := sqlState(err)
	switch {
	case code == "":
		return true // the connection failed
	case strings.Contains(err.Error(), "statement pooling mode"): // of PgBouncer, with the code of a lost connection
		return false
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"): // connection lost, shutdown, starting up
		return true
	}
	switch code {
	case "40001", "40P01", "55P03", // conflict, deadlock, lock timeout
		"25006",          // a standby that is not promoted yet
		"25P03", "25P04", // the transaction was idle, or took too long
		"53300", "57014": // too many connections, cancelled
		return true
	}
	return false
}

// described adds the sentinel that the core knows to a server's error.
func described(err error) error {
	switch sqlState(err) {
	case "53100":
		return fmt.Errorf("%w: %w", backend.ErrFull, err)
	case "XX001", "XX002":
		return fmt.Errorf("%w: %w", backend.ErrDamaged, err)
	case "42P05", "26000": // a prepared statement of another client exists, or of this one does not
		return fmt.Errorf("%w; a proxy in transaction mode, or a hook that runs DISCARD ALL, needs default_query_exec_mode=exec in the URL", err)
	}
	return err
}

// waited reports whether err may be a conflict over a row with another transaction. A
// statement_timeout or transaction_timeout of the role can end the wait before lock_timeout does.
func waited(err error) bool {
	switch sqlState(err) {
	case "55P03", "40P01", "40001", "57014", "25P04":
		return true
	}
	return false
}

// concernsRow reports whether err, of a statement on many rows, may be due to one of them: a
// constraint, a trigger, a value, an index entry that is too large (54000), or an unreadable
// block (58030). Errors of prepared statements, of access, of the definition of the tables, and of resources such as disk
// space concern all rows.
func concernsRow(err error) bool {
	code := sqlState(err)
	return code != "" && !slices.Contains([]string{"26", "28", "3D", "3F", "42", "53"}, code[:2])
}
