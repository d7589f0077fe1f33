package sqlite

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/hashedwheel/hwt/durable/backend"
)

// DB returns the store's file as a database of package database/sql, for the program's own
// tables. It has the settings of the store, and each call returns the same one. [Store.Tx] takes
// its transactions.
//
// Each write waits for its turn among the writes of the store: it never fails because another one is
// under way. While a transaction of DB is open, other writes wait, firings included: keep it short. A
// transaction whose context ends rolls back. A transaction of a reader, with
// sql.TxOptions.ReadOnly, delays no write.
//
// Close of the store rolls an open transaction back, after the call under way, and closes the
// database. The driver is github.com/ncruces/go-sqlite3/driver. It registers the name "sqlite3", as
// mattn/go-sqlite3 does: a program with both needs the linker flag of the driver's documentation.
func (s *Store) DB() *sql.DB {
	b := s.backend
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.db == nil {
		b.db = sql.OpenDB(connector{b})
		if b.failed != nil {
			b.db.Close()
		}
	}
	return b.db
}

// connector opens connections of DB.
type connector struct{ b *sqliteBackend }

// Driver implements driver.Connector.
func (connector) Driver() sqldriver.Driver { return &driver.SQLite{} }

// Connect implements driver.Connector. It returns a connection that database/sql has closed, or a new
// one: D1 forbids to close them.
func (n connector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	b := n.b
	b.mu.Lock()
	err := b.failed
	if last := len(b.idleSQL) - 1; err == nil && last >= 0 {
		defer b.mu.Unlock()
		s := b.idleSQL[last]
		b.idleSQL = b.idleSQL[:last]
		return s, nil
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	s := &sqlConn{b: b}
	s.c, err = process.open(b.options.vfs, sqlite3.OPEN_READWRITE, func() (*sqlite3.Conn, error) {
		open, err := (&driver.SQLite{}).OpenConnector(uri(b.path, b.options.vfs))
		if err != nil {
			return nil, err
		}
		c, err := open.Connect(ctx)
		if err != nil {
			return nil, err
		}
		s.inner = c.(sqlInner)
		return s.inner.Raw(), nil
	})
	if err != nil {
		return nil, explain(b.path, translate(ctx, err))
	}
	err = s.c.BusyHandler(b.waitForOthers)
	if err == nil {
		err = s.c.pragmas(b.settings()...)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		err = b.failed
	}
	if err != nil {
		process.release(s.c, false)
		return nil, translate(ctx, err)
	}
	b.sqlConns = append(b.sqlConns, s)
	return s, nil
}

// waitForOthers waits for other processes, which may hold the lock for as long as they like.
func (b *sqliteBackend) waitForOthers(ctx context.Context, _ int) bool {
	select {
	case <-b.life.Done():
		return false
	case <-ctx.Done():
		return false
	case <-time.After(time.Millisecond):
		return true
	}
}

// takeTurn lets the caller write on another connection than the writer's, until release. When the
// store is closed, the writer calls abort.
func (b *sqliteBackend) takeTurn(ctx context.Context, abort func()) (release func(), err error) {
	begun, released := make(chan struct{}), make(chan struct{})
	j := &job{alone: true, done: make(chan struct{}), run: func(*txn) error {
		close(begun)
		select {
		case <-released:
		case <-b.life.Done():
			abort()
		}
		return nil
	}}
	if err := b.enqueue(ctx, j); err != nil {
		return nil, err
	}
	withdraw := ctx.Done()
	for {
		select {
		case <-begun:
			return func() { close(released) }, nil
		case <-j.done:
			select {
			case <-begun: // and the store is closed
				return func() { close(released) }, nil
			default:
				return nil, j.err
			}
		case <-withdraw:
			if j.stage.CompareAndSwap(queued, withdrawn) {
				return nil, context.Cause(ctx)
			}
			withdraw = nil // it begins now
		}
	}
}

// closeDB closes the connections of DB for their users, and returns them.
func (b *sqliteBackend) closeDB() (conns []*conn) {
	b.mu.Lock()
	db, all := b.db, b.sqlConns
	b.mu.Unlock()
	if db != nil {
		db.Close()
	}
	for _, s := range all {
		s.mu.Lock()
		s.ended = true
		conns = append(conns, s.c)
		s.mu.Unlock()
	}
	return conns
}

// isNear reports whether a due time is within the lead.
func (b *sqliteBackend) isNear(due int64) bool {
	return due <= time.Now().Add(b.Limits().Lead).UnixNano()
}

// announcement are rows that a COMMIT announces.
type announcement struct {
	near []backend.Row // near when they were stored
	next int64         // due time of the first of the others, or 0
}

// add notes a row. The transaction may be open for so long that the row is near only at COMMIT.
func (r *announcement) add(b *sqliteBackend, row backend.Row) {
	if b.isNear(row.Due) {
		r.near = append(r.near, row)
	} else if r.next == 0 || row.Due < r.next {
		r.next = row.Due
	}
}

// announce passes the rows to the workers, after COMMIT.
func (r announcement) announce(b *sqliteBackend) {
	if len(r.near) > 0 {
		b.announce(r.near)
	}
	if r.next != 0 && b.isNear(r.next) {
		b.announce(nil)
	}
}
