package sqlite

import (
	"context"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/hashedwheel/hwt/durable/backend"
)

// readers is the number of connections for reads. Each takes about 3 MB.
const readers = 2

// readerPool has the connections that only read.
type readerPool struct {
	queue   *queue // of the store, for its end
	files   *storeFiles
	locks   *lockTimes     // of the writer
	readers chan *conn     // idle connections for short reads
	tasks   sync.WaitGroup // uses that Close waits for

	spareMu sync.Mutex
	spare   []*conn // idle connections for long reads. Guarded by spareMu.
}

// read runs f with a connection for reads.
func (p *readerPool) read(ctx context.Context, f func(*conn) error) error {
	if err := p.queue.failure(); err != nil {
		return err
	}
	var c *conn
	select {
	case c = <-p.readers:
	case <-p.queue.life.Done():
		return backend.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { p.readers <- c }()
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	return translate(ctx, f(c))
}

// apart runs f with a separate connection, because f may take long. Close ends it.
func (p *readerPool) apart(ctx context.Context, f func(*conn) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.queue.life, func() { cancel(backend.ErrClosed) })()
	if err := p.begin(); err != nil {
		return err
	}
	defer p.tasks.Done()
	if err := process.checkForeign(p.files.path); err != nil {
		return err
	}
	c, err := p.takeSpare(ctx)
	if err != nil {
		return explain(p.files.path, translate(ctx, err))
	}
	defer p.putSpare(c)
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	return translate(ctx, f(c))
}

// begin makes Close wait for tasks.Done, or returns the error of a closed store.
func (p *readerPool) begin() error {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	if p.queue.failed == nil {
		p.tasks.Add(1) // Close waits
	}
	return p.queue.failed
}

// takeSpare returns an idle connection of apart, or a new one.
func (p *readerPool) takeSpare(ctx context.Context) (*conn, error) {
	p.spareMu.Lock()
	if n := len(p.spare); n > 0 {
		defer p.spareMu.Unlock()
		c := p.spare[n-1]
		p.spare = p.spare[:n-1]
		return c, nil
	}
	p.spareMu.Unlock()
	return open(ctx, p.files.path, p.files.options.vfs, sqlite3.OPEN_READWRITE)
}

// putSpare keeps a connection until Close (D1).
func (p *readerPool) putSpare(c *conn) {
	c.rollback()
	p.spareMu.Lock()
	defer p.spareMu.Unlock()
	p.spare = append(p.spare, c)
}

// idle returns the idle connections, for Close.
func (p *readerPool) idle() (conns []*conn) {
	p.spareMu.Lock()
	conns = p.spare
	p.spareMu.Unlock()
	for len(p.readers) > 0 {
		conns = append(conns, <-p.readers)
	}
	return conns
}
