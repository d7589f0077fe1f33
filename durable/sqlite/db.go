package sqlite

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"sync"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/hashedwheel/hwt/durable/backend"
)

// database has the connections of DB. It implements driver.Connector.
type database struct {
	queue  *queue // of the store
	files  *storeFiles
	writer *writer // whose turns the connections take

	dbMu     sync.Mutex
	db       *sql.DB    // Guarded by dbMu.
	sqlConns []*sqlConn // all connections. Guarded by dbMu.
	idleSQL  []*sqlConn // those that database/sql has closed. Guarded by dbMu.
	closed   bool       // Guarded by dbMu.
}

// Driver implements driver.Connector.
func (*database) Driver() sqldriver.Driver { return &driver.SQLite{} }

// Connect implements driver.Connector. It returns a connection that database/sql has closed, or a new
// one: D1 forbids to close them.
func (d *database) Connect(ctx context.Context) (sqldriver.Conn, error) {
	if err := d.queue.failure(); err != nil {
		return nil, err
	}
	d.dbMu.Lock()
	if last := len(d.idleSQL) - 1; last >= 0 {
		defer d.dbMu.Unlock()
		s := d.idleSQL[last]
		d.idleSQL = d.idleSQL[:last]
		return s, nil
	}
	d.dbMu.Unlock()
	s, err := d.open(ctx)
	if err != nil {
		return nil, explain(d.files.path, translate(ctx, err))
	}
	d.dbMu.Lock()
	defer d.dbMu.Unlock()
	if d.closed {
		process.release(s.c, false)
		return nil, backend.ErrClosed
	}
	d.sqlConns = append(d.sqlConns, s)
	return s, nil
}

// open opens a connection with the settings of the store.
func (d *database) open(ctx context.Context) (s *sqlConn, err error) {
	s = &sqlConn{writer: d.writer, putIdle: d.putIdle}
	s.c, err = process.open(d.files.options.vfs, sqlite3.OPEN_READWRITE, func() (*sqlite3.Conn, error) {
		n, err := (&driver.SQLite{}).OpenConnector(uri(d.files.path, d.files.options.vfs))
		if err != nil {
			return nil, err
		}
		c, err := n.Connect(ctx)
		if err != nil {
			return nil, err
		}
		s.inner = c.(sqlInner)
		return s.inner.Raw(), nil
	})
	if err != nil {
		return nil, err
	}
	if err = s.c.BusyHandler(d.queue.waitForOthers); err == nil {
		err = s.c.pragmas(d.files.settings()...)
	}
	if err != nil {
		process.release(s.c, false)
	}
	return s, err
}

// closeDB closes the connections of DB for their users, and returns them.
func (d *database) closeDB() (conns []*conn) {
	d.dbMu.Lock()
	db, all := d.db, d.sqlConns
	d.closed = true
	d.dbMu.Unlock()
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

// putIdle keeps a connection that database/sql has closed.
func (d *database) putIdle(s *sqlConn) {
	d.dbMu.Lock()
	defer d.dbMu.Unlock()
	d.idleSQL = append(d.idleSQL, s)
}
