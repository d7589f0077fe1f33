package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/hashedwheel/hwt/durable/backend"
)

// conn is a connection with its prepared statements. It is not safe for concurrent use.
type conn struct {
	*sqlite3.Conn
	queries map[string]*query
	scratch []byte    // never nil: SQLite takes nil for NULL
	steps   uint      // statements executed and rows read
	yielded time.Time // end of the last yield

	file   *openFile // nil in a file system of tests
	fd     uintptr
	system string           // SQLite's file system
	flags  sqlite3.OpenFlag // without OPEN_CREATE
}

func newConn(raw *sqlite3.Conn, system string, flags sqlite3.OpenFlag) *conn {
	return &conn{Conn: raw, queries: make(map[string]*query), scratch: make([]byte, 0, 512), system: system, flags: flags}
}

// busyFor is the time that a read waits for a lock. In WAL mode only recovery and checkpoints
// of other processes hold a lock.
const busyFor = 5 * time.Second

func (c *conn) pragmas(pragmas ...string) error {
	for _, p := range pragmas {
		if err := c.Exec("PRAGMA " + p); err != nil {
			return err
		}
	}
	return nil
}

// useWAL changes the file to WAL mode. SQLite does not wait for others that do the same.
func (c *conn) useWAL() error {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		err := c.pragmas("journal_mode = WAL")
		if !errors.Is(err, sqlite3.BUSY) || c.GetInterrupt().Err() != nil || time.Since(begun) > busyFor {
			return err
		}
	}
}

// finalize closes the statements, and the statements of users of DB.
func (c *conn) finalize() {
	for _, s := range slices.Collect(c.Stmts()) {
		s.Close()
	}
	clear(c.queries)
}

// park ends the transaction of a store on the connection, and undoes its settings.
func (c *conn) park() {
	c.SetInterrupt(context.Background())
	c.finalize()
	c.rollback()
	c.pragmas("query_only = OFF")
	c.ReleaseMemory()
}

func (c *conn) close() error {
	c.finalize()
	return c.Close()
}

// rollback ends a transaction if there is one.
func (c *conn) rollback() {
	if !c.GetAutocommit() {
		c.Exec("ROLLBACK") // fails only if SQLite has rolled back itself
	}
}

// query is a prepared statement that is being bound, executed, or read.
type query struct {
	c   *conn
	s   *sqlite3.Stmt
	n   int // parameters bound so far
	err error
}

// query returns the statement, ready to be bound. Errors are kept until exec or each.
func (c *conn) query(sql string) *query {
	q := c.queries[sql]
	if q == nil {
		s, _, err := c.Prepare(sql)
		if err != nil {
			return &query{c: c, err: err}
		}
		q = &query{c: c, s: s}
		c.queries[sql] = q
	}
	q.n, q.err = 0, nil
	return q
}

func (q *query) int(v int64) *query {
	if q.err == nil {
		q.n++
		q.err = q.s.BindInt64(q.n, v)
	}
	return q
}

func (q *query) real(v float64) *query {
	if q.err == nil {
		q.n++
		q.err = q.s.BindFloat(q.n, v)
	}
	return q
}

// blob binds text as a BLOB, and "" as NULL.
func (q *query) blob(v string) *query {
	if v == "" {
		return q.bytes(nil)
	}
	return q.bytesOf(v)
}

// bytesOf binds text as a BLOB, even if it is empty.
func (q *query) bytesOf(v string) *query {
	q.c.scratch = append(q.c.scratch[:0], v...)
	return q.bytes(q.c.scratch)
}

// bytes binds a BLOB, and nil as NULL.
func (q *query) bytes(v []byte) *query {
	if q.err == nil {
		q.n++
		q.err = q.s.BindBlob(q.n, v)
	}
	return q
}

// yieldEvery is the time after which a connection lets other goroutines run: a transaction and
// a look for due rows, on a processor each, would delay the wheel for milliseconds. On busy
// processors each yield waits for all runnable goroutines, and a transaction keeps its lock.
const yieldEvery = time.Millisecond

// yield lets other goroutines run if the last time was yieldEvery ago. It reads the clock once
// per 64 steps. They take about 0.2 ms.
func (c *conn) yield() {
	if c.steps++; c.steps%64 == 0 && time.Since(c.yielded) >= yieldEvery {
		runtime.Gosched()
		c.yielded = time.Now()
	}
}

// exec executes the statement and returns the number of changed rows.
func (q *query) exec() (int64, error) {
	if q.err != nil {
		return 0, q.err
	}
	q.c.yield()
	if err := q.s.Exec(); err != nil {
		return 0, err
	}
	return q.c.Changes(), nil
}

// run executes a statement without parameters.
func (c *conn) run(sql string) error {
	_, err := c.query(sql).exec()
	return err
}

// each calls f for each row of the result, until f returns an error or errEnough.
func (q *query) each(f func(*query) error) error {
	if q.err != nil {
		return q.err
	}
	var err error
	for err == nil && q.s.Step() {
		q.c.yield()
		err = f(q)
	}
	switch err {
	case nil:
		err = q.s.Err()
	case errEnough:
		err = nil
	}
	return errors.Join(err, q.s.Reset())
}

// errEnough ends the reading of a result.
var errEnough = errors.New("enough rows")

// all scans the rows of the result, up to an error.
func all[T any](q *query, scan func(*query) (T, error)) (rows []T, err error) {
	err = q.each(func(q *query) error {
		row, err := scan(q)
		if err == nil {
			rows = append(rows, row)
		}
		return err
	})
	return rows, err
}

// integer returns the only column of the only row.
func (q *query) integer() (n int64, err error) {
	err = q.each(func(q *query) error {
		n = q.s.ColumnInt64(0)
		return nil
	})
	return n, err
}

// translate returns the error of package backend for an error of SQLite.
func translate(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && (errors.Is(err, sqlite3.INTERRUPT) || errors.Is(err, sqlite3.BUSY)):
		return context.Cause(ctx)
	case noRoom(err):
		return fmt.Errorf("%w: %w", backend.ErrFull, err)
	case errors.Is(err, sqlite3.CORRUPT), errors.Is(err, sqlite3.NOTADB):
		return fmt.Errorf("%w: %w", backend.ErrDamaged, err)
	}
	return err
}

// noRoom reports whether the log or its index could not grow. SQLite rolls the transaction
// back, and the file is intact. The driver returns the same error for a full file
// system and for other failed writes.
func noRoom(err error) bool {
	return errors.Is(err, sqlite3.FULL) || errors.Is(err, sqlite3.IOERR_WRITE) || errors.Is(err, sqlite3.IOERR_SHMSIZE)
}

// openFile is a file with connections. All fields are guarded by fileTable.mu.
type openFile struct {
	info   os.FileInfo
	own    map[uintptr]bool // descriptors of all connections
	users  int              // connections in use
	parked []*conn
}
