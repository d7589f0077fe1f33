package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// sqliteBackend implements backend.Backend by parts that own their state.
type sqliteBackend struct {
	*storeFiles
	*queue
	*writer
	*readerPool
	*database
	*watchers
	searches   searches
	rejections rejections
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
	if err = errors.Join(err, checkLinks(path), checkMount(path), process.checkForeign(path)); err != nil {
		return nil, explain(path, err)
	}
	b := assemble(&storeFiles{path: path, options: o})
	if err := b.connect(ctx); err != nil {
		err = explain(path, translate(ctx, err)) // before there are free descriptors again
		b.disconnect()
		return nil, err
	}
	go b.write()
	if o.SyncEvery > 0 {
		b.tasks.Go(b.keepSynced)
	}
	return b, nil
}

// assemble connects the parts.
func assemble(files *storeFiles) *sqliteBackend {
	b := &sqliteBackend{storeFiles: files, queue: newQueue(), watchers: &watchers{all: make(map[*func([]backend.Row)]bool)},
		searches: searches{all: make(map[string]search), rejected: make(map[string]map[backend.Ref]bool)}}
	b.writer = &writer{queue: b.queue, files: files, announce: b.watchers.announce, stale: true, written: make(chan struct{})}
	b.readerPool = &readerPool{queue: b.queue, files: files, locks: &b.writer.held, readers: make(chan *conn, readers)}
	b.database = &database{queue: b.queue, files: files, writer: b.writer}
	b.rejections.queue, b.rejections.announce = b.queue, b.watchers.announce
	return b
}

// Trouble implements backend.Backend.
func (b *sqliteBackend) Trouble() *backend.Trouble { return &b.queue.trouble }

// connect opens the connections and brings the schema up to date.
func (b *sqliteBackend) connect(ctx context.Context) (err error) {
	flags := sqlite3.OPEN_READWRITE
	if !b.options.MustExist {
		flags |= sqlite3.OPEN_CREATE
	}
	if b.writer.conn, err = open(ctx, b.path, b.options.vfs, flags); err != nil {
		if b.options.MustExist && errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w: %w", backend.ErrNoStore, err)
		}
		return err
	}
	defer b.writer.SetInterrupt(b.writer.SetInterrupt(ctx))
	if err := b.leaveForeignLog(ctx, b.writer.conn); err != nil {
		return err
	}
	if b.options.MustExist {
		// First, so that databases of other programs stay as they are. On this connection:
		// closing the only one would write the whole log of a killed process to the file.
		version, err := schemaVersion(b.writer.conn)
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
	if err := migrate(b.writer.conn); err != nil {
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

// disconnect gives up the connections. The last one of all processes checkpoints.
func (b *sqliteBackend) disconnect() (err error) {
	if b.log != nil {
		err = b.log.Close() // first: Windows deletes no open file
	}
	conns := append(b.closeDB(), b.idle()...)
	if b.writer.conn != nil {
		conns = append(conns, b.writer.conn)
	}
	displaced := b.displaced.Load()
	for _, c := range conns {
		if displaced {
			c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
		}
		err = errors.Join(err, process.release(c, !displaced))
	}
	return err
}

// manyRows is the number of rows from which on a store gets the index of kinds in any case. All writes wait during
// the build. The time of the build grows with the number of rows.
const manyRows = 100_000

// Limits implements backend.Backend.
func (b *sqliteBackend) Limits() backend.Limits {
	return backend.Limits{
		Lead:       lead,
		Poll:       pollEvery,
		LeaseBatch: 1000,
		MaxBatch:   2000,
		MaxPayload: 1 << 20,
		Together:   manyRows,
	}
}

// Now implements backend.Backend.
func (b *sqliteBackend) Now(context.Context) (time.Time, error) { return time.Now(), b.failure() }

// Announce implements backend.Backend. Other processes poll.
func (b *sqliteBackend) Announce() {}

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
