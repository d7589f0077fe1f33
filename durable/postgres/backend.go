package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hashedwheel/hwt/durable/backend"
)

const (
	lead      = 3 * time.Second
	poll      = 500 * time.Millisecond
	sizeEvery = 2 * time.Second
	txSlack   = time.Minute

	// leaseBatch keeps one worker from taking half a second's entries from others.
	leaseBatch = 500
)

// postgresBackend implements [backend.Backend]. [Open] makes a store of it.
type postgresBackend struct {
	pool    *pgxpool.Pool
	options Options                 // complete. Immutable after newBackend.
	text    func(sql string) string // fills in a statement. Immutable after newBackend.
	name    string                  // distinguishes this process's notifications. Immutable after newBackend.
	ctx     context.Context
	end     context.CancelFunc
	tasks   sync.WaitGroup
	bytes   atomic.Int64 // disk space when last measured. Atomic: written by measure and Stats, read by callers.

	reset atomic.Int64 // time of the last Reset of the pool, in nanoseconds. Atomic.

	budget    budget
	trouble   *trouble
	acks      *acks
	lanes     *lanes
	returner  *returner
	near      chan struct{} // one element requests a notification
	watchers  sync.Map      // functions given to Watch, by their addresses
	listening atomic.Bool   // Notifications arrive. Atomic: written by listen, read by Lease.
}

var _ backend.Backend = (*postgresBackend)(nil)

// newBackend prepares the tables and returns the backend. The caller keeps the pool:
// Close leaves it open.
func newBackend(ctx context.Context, pool *pgxpool.Pool, options *Options) (*postgresBackend, error) {
	o, err := options.complete()
	if err != nil {
		return nil, err
	}
	if pool == nil {
		return nil, fmt.Errorf("postgres: %w: pool: nil (expected: a *pgxpool.Pool)", backend.ErrInvalid)
	}
	b := &postgresBackend{pool: pool, options: o, text: forSchema(o.Schema), name: rand.Text(), near: make(chan struct{}, 1)}
	b.ctx, b.end = context.WithCancel(context.Background())
	b.budget.limit.Store(backend.BatchBytes)
	b.trouble = &trouble{logger: o.Logger}
	b.returner = newReturner(b)
	b.acks = &acks{again: b.returner.acknowledge}
	if err := b.prepare(ctx); err != nil {
		b.end()
		return nil, err
	}
	b.lanes = newLanes(b)
	b.tasks.Go(b.returner.run)
	b.tasks.Go(b.announce)
	if !o.PollOnly {
		b.tasks.Go(b.listen)
	}
	if o.MaxBytes > 0 {
		b.tasks.Go(b.measure)
	}
	return b, nil
}

// Limits implements [backend.Backend].
func (b *postgresBackend) Limits() backend.Limits {
	return backend.Limits{Lead: lead, Poll: poll, LeaseBatch: leaseBatch, MaxBatch: maxBatch, MaxPayload: 1 << 20}
}

// Close implements [backend.Backend].
func (b *postgresBackend) Close() error {
	b.lanes.close()
	b.tasks.Wait()
	b.announceLast()
	return nil
}
