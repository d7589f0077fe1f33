package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// pollEvery is the interval of checks for writes of other processes.
const pollEvery = 250 * time.Millisecond

// readers is the number of connections for reads. Each takes about 3 MB.
const readers = 2

// sqliteBackend implements backend.Backend.
type sqliteBackend struct {
	path    string
	names   []namedFile // the file, its log, and the log's index
	options Options
	readers chan *conn // idle connections for reads
	log     *os.File   // with SyncEvery

	writer  *conn              // S1
	state   state              // S1
	stale   bool               // state must be read anew. S1
	version int64              // of the file, as seeOthers saw it. S1
	unseen  bool               // workers have not looked since another process wrote. S1
	looked  time.Time          // when they were last made to. S1
	checked time.Time          // when the names were last checked. S1
	wake    chan struct{}      // there are jobs
	written chan struct{}      // closed by the writer goroutine
	tasks   sync.WaitGroup     // other goroutines that use the file
	life    context.Context    // ends with Close
	end     context.CancelFunc // of life
	held    lockTimes
	dirty   atomic.Bool // there are commits, also of others, that SyncEvery has not synced

	mu        sync.Mutex
	jobs      []*job                        // Guarded by mu.
	failed    error                         // why no call can succeed any more. Guarded by mu.
	watchers  map[*func([]backend.Row)]bool // Guarded by mu.
	spare     []*conn                       // idle connections of apart. Guarded by mu.
	db        *sql.DB                       // Guarded by mu.
	sqlConns  []*sqlConn                    // all connections of DB. Guarded by mu.
	idleSQL   []*sqlConn                    // those that database/sql has closed. Guarded by mu.
	displaced bool                          // other files have the names of the store's. Guarded by mu.
}

var _ backend.Backend = (*sqliteBackend)(nil)

// newBackend opens the file.
func newBackend(ctx context.Context, path string, o Options) (_ *sqliteBackend, err error) {
	given := path
	if path, err = resolve(path); err != nil {
		return nil, explain(given, err)
	}
	if !o.AnyFileSystem {
		err = checkLocal(filepath.Dir(path))
	}
	if err = errors.Join(err, checkLinks(path), process.checkForeign(path)); err != nil {
		return nil, explain(path, err)
	}
	b := &sqliteBackend{
		path:     path,
		options:  o,
		readers:  make(chan *conn, readers),
		stale:    true,
		wake:     make(chan struct{}, 1),
		written:  make(chan struct{}),
		watchers: make(map[*func([]backend.Row)]bool),
	}
	b.life, b.end = context.WithCancel(context.Background())
	if err := b.connect(ctx); err != nil {
		b.disconnect()
		return nil, explain(path, translate(ctx, err))
	}
	go b.write()
	if o.SyncEvery > 0 {
		b.tasks.Go(b.keepSynced)
	}
	return b, nil
}

// connect opens the connections and brings the schema up to date.
func (b *sqliteBackend) connect(ctx context.Context) (err error) {
	flags := sqlite3.OPEN_READWRITE
	if !b.options.MustExist {
		flags |= sqlite3.OPEN_CREATE
	}
	if b.writer, err = open(ctx, b.path, b.options.vfs, flags); err != nil {
		if b.options.MustExist && errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w: %w", backend.ErrNoStore, err)
		}
		return err
	}
	defer b.writer.SetInterrupt(b.writer.SetInterrupt(ctx))
	if b.options.MustExist {
		// First, so that databases of other programs stay as they are. On this connection:
		// closing the only one would write the whole log of a killed process to the file.
		version, err := schemaVersion(b.writer)
		if err == nil && version == 0 {
			err = backend.ErrNoStore
		}
		if err != nil {
			return err
		}
	}
	if info, err := os.Stat(b.path); err == nil {
		createLike(b.path+"-shm", info) // SQLite reports the error
	}
	if err := b.writer.useWAL(); err != nil {
		return err
	}
	if err := b.writer.pragmas(append(b.settings(), "cache_size = -16000")...); err != nil {
		return err
	}
	if err := migrate(b.writer); err != nil {
		return err
	}
	if err := b.openLog(); err != nil {
		return err
	}
	if err := syncDirectory(filepath.Dir(b.path)); err != nil {
		return err
	}
	for range readers {
		c, err := open(ctx, b.path, b.options.vfs, flags&^sqlite3.OPEN_CREATE, "query_only = ON", "cache_size = -2000")
		if err != nil {
			return err
		}
		b.readers <- c
	}
	if err := b.nameFiles(); err != nil {
		return err
	}
	return b.writer.BusyTimeout(0) // begin waits itself
}

// settings are the pragmas of the connections that write.
func (b *sqliteBackend) settings() []string {
	synchronous := "synchronous = FULL"
	if b.options.SyncEvery > 0 {
		synchronous = "synchronous = NORMAL"
	}
	return []string{synchronous, "fullfsync = ON", "checkpoint_fullfsync = ON",
		fmt.Sprintf("wal_autocheckpoint = %d", b.options.checkpoint),
		fmt.Sprintf("journal_size_limit = %d", 4*b.options.checkpoint*4096), // a long read makes the log grow
		"temp_store = MEMORY"}
}

// openLog syncs the log, which may be from a killed process, and keeps it open for SyncEvery: later, the
// process may have no free descriptors, or fewer rights.
func (b *sqliteBackend) openLog() error {
	log, err := os.OpenFile(b.path+"-wal", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err = b.options.sync(log); err == nil && b.options.SyncEvery > 0 {
		b.log = log
		return nil
	}
	return errors.Join(err, log.Close())
}

// disconnect gives up the connections. The last one of all processes checkpoints.
func (b *sqliteBackend) disconnect() (err error) {
	conns := append(b.closeDB(), b.spare...)
	for len(b.readers) > 0 {
		conns = append(conns, <-b.readers)
	}
	if b.writer != nil {
		conns = append(conns, b.writer)
	}
	usable := errors.Is(b.failure(), backend.ErrClosed) && !b.displaced
	for _, c := range conns {
		if b.displaced {
			c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
		}
		err = errors.Join(err, process.release(c, usable))
	}
	if b.log != nil {
		err = errors.Join(err, b.log.Close())
	}
	return err
}

// Limits implements backend.Backend.
func (b *sqliteBackend) Limits() backend.Limits {
	return backend.Limits{
		Lead:       time.Second,
		Poll:       pollEvery,
		LeaseBatch: 1000,
		MaxBatch:   2000,
		MaxPayload: 1 << 20,
	}
}

// Now implements backend.Backend.
func (b *sqliteBackend) Now(context.Context) (time.Time, error) { return time.Now(), b.failure() }

// Announce implements backend.Backend. Other processes poll.
func (b *sqliteBackend) Announce() {}

// Watch implements backend.Backend.
func (b *sqliteBackend) Watch(near func(rows []backend.Row)) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers[&near] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watchers, &near)
	}
}

// announce passes near rows to the watchers.
func (b *sqliteBackend) announce(rows []backend.Row) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for near := range b.watchers {
		(*near)(rows)
	}
}

// keepSynced syncs the write-ahead log at the interval of SyncEvery.
func (b *sqliteBackend) keepSynced() {
	tick := time.NewTicker(b.options.SyncEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-b.life.Done():
			return
		}
		if !b.dirty.Swap(false) {
			continue
		}
		if err := b.options.sync(b.log); err != nil {
			b.fail(fmt.Errorf("%w after an error of the disk: %w", backend.ErrClosed, err))
			return
		}
	}
}

// syncDirectory makes the creation and deletion of files in a directory durable. SQLite
// leaves that to the first sync of its log.
func syncDirectory(path string) error {
	if runtime.GOOS == "windows" { // cannot
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Close implements backend.Backend.
func (b *sqliteBackend) Close() error {
	b.fail(backend.ErrClosed)
	b.end()
	<-b.written
	b.tasks.Wait()
	var err error
	if b.options.SyncEvery > 0 && b.dirty.Load() {
		err = b.options.sync(b.log) // SQLite does so only with the last connection of all processes
	}
	return errors.Join(err, b.disconnect())
}

// read runs f with a connection for reads.
func (b *sqliteBackend) read(ctx context.Context, f func(*conn) error) error {
	if err := b.failure(); err != nil {
		return err
	}
	var c *conn
	select {
	case c = <-b.readers:
	case <-b.life.Done():
		return backend.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { b.readers <- c }()
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	return translate(ctx, f(c))
}

// Store is a store in a file.
type Store struct {
	*durable.Store
	backend *sqliteBackend
}

// Open opens the store in the file, and creates both if they don't exist. The file's
// directory must exist, and must not be on a network file system. The path is a plain one:
// Open rejects URIs and ":memory:". Close the store to release the file.
func Open(ctx context.Context, path string, options *Options) (*Store, error) {
	o, err := options.complete()
	if err != nil {
		return nil, err
	}
	b, err := newBackend(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("sqlite: Open %q: %w", path, err)
	}
	s, err := durable.New(ctx, b, &o.Options)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &Store{s, b}, nil
}
