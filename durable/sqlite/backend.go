package sqlite

import (
	"context"
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
	options Options
	readers chan *conn // idle connections for reads

	writer  *conn              // S1
	state   state              // S1
	stale   bool               // state must be read anew. S1
	version int64              // of the file, as seeOthers saw it. S1
	unseen  bool               // workers have not looked since another process wrote. S1
	looked  time.Time          // when they were last made to. S1
	wake    chan struct{}      // there are jobs
	written chan struct{}      // closed by the writer goroutine
	tasks   sync.WaitGroup     // other goroutines that use the file
	life    context.Context    // ends with Close
	end     context.CancelFunc // of life
	dirty   atomic.Bool        // there are commits, also of others, that SyncEvery has not synced

	mu       sync.Mutex
	jobs     []*job                        // Guarded by mu.
	failed   error                         // why no call can succeed any more. Guarded by mu.
	watchers map[*func([]backend.Row)]bool // Guarded by mu.
}

var _ backend.Backend = (*sqliteBackend)(nil)

// newBackend opens the file.
func newBackend(ctx context.Context, path string, o Options) (_ *sqliteBackend, err error) {
	if path, err = resolve(path); err != nil {
		return nil, err
	}
	if err := checkLocal(filepath.Dir(path)); err != nil {
		return nil, err
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
		return nil, translate(ctx, err)
	}
	go b.write()
	if o.SyncEvery > 0 {
		b.tasks.Go(b.keepSynced)
	}
	return b, nil
}

// resolve returns the absolute path without symbolic links. SQLite resolves them, too, and its
// log is beside the file that a link names.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	file, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, os.ErrNotExist) {
		return file, err
	}
	directory, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(directory, filepath.Base(path)), err
}

// connect opens the connections and brings the schema up to date.
func (b *sqliteBackend) connect(ctx context.Context) (err error) {
	flags := sqlite3.OPEN_READWRITE
	if !b.options.MustExist {
		flags |= sqlite3.OPEN_CREATE
	}
	synchronous := "synchronous = FULL"
	if b.options.SyncEvery > 0 {
		synchronous = "synchronous = NORMAL"
	}
	path := b.path
	if b.options.vfs != "" {
		path, flags = "file:"+path+"?vfs="+b.options.vfs, flags|sqlite3.OPEN_URI
	}
	if b.writer, err = open(ctx, path, flags); err != nil {
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
	if err := b.writer.useWAL(); err != nil {
		return err
	}
	if err := b.writer.pragmas(synchronous, "fullfsync = ON", "checkpoint_fullfsync = ON",
		fmt.Sprintf("wal_autocheckpoint = %d", b.options.checkpoint),
		fmt.Sprintf("journal_size_limit = %d", 4*b.options.checkpoint*4096), // a long read makes the log grow
		"cache_size = -16000", "temp_store = MEMORY"); err != nil {
		return err
	}
	if err := errors.Join(migrate(b.writer), b.writer.guard()); err != nil {
		return err
	}
	if err := b.options.sync(b.path + "-wal"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := syncDirectory(filepath.Dir(b.path)); err != nil {
		return err
	}
	for range readers {
		c, err := open(ctx, path, flags&^sqlite3.OPEN_CREATE, "query_only = ON", "cache_size = -2000")
		if err != nil {
			return err
		}
		b.readers <- c
	}
	return b.writer.BusyTimeout(0) // begin waits itself
}

// disconnect closes the connections; the last one of all processes checkpoints.
func (b *sqliteBackend) disconnect() (err error) {
	for len(b.readers) > 0 {
		err = errors.Join(err, (<-b.readers).close())
	}
	if b.writer != nil {
		err = errors.Join(err, b.writer.close())
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
		if err := b.options.sync(b.path + "-wal"); err != nil {
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
		err = b.options.sync(b.path + "-wal") // SQLite does so only with the last connection of all processes
	}
	for range readers {
		err = errors.Join(err, (<-b.readers).close())
	}
	return errors.Join(err, b.writer.close())
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
// directory must exist, and must not be on a network file system. Close the store to
// release the file.
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
