package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hashedwheel/hwt/durable/backend"
)

const (
	lead = 3 * time.Second
	poll = 500 * time.Millisecond

	// leaseBatch keeps one worker from taking half a second's entries from others.
	leaseBatch = 500
)

// postgresBackend implements [backend.Backend] by parts that own their state. [Open] makes a store
// of a postgresBackend.
type postgresBackend struct {
	*session
	*announcer
	*sizes
	*lanes
	*leases
	claims
	outcomes
	reader
	pauses
	limits
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
	b := assemble(newSession(pool, o))
	if err := (preparer{b.session}).prepare(ctx); err != nil {
		b.end()
		return nil, err
	}
	b.tasks.Go(b.leases.returner.run)
	b.tasks.Go(b.announce)
	if !o.PollOnly {
		b.tasks.Go(b.listen)
	}
	if o.MaxBytes > 0 {
		b.tasks.Go(b.measure)
	}
	return b, nil
}

// assemble connects the parts.
func assemble(s *session) *postgresBackend {
	b := &postgresBackend{session: s, sizes: &sizes{session: s}, reader: reader{s}}
	b.announcer = &announcer{session: s, name: rand.Text(), near: make(chan struct{}, 1)}
	b.pauses = pauses{s, b.announcer}
	returner := newReturner(s, b.announcer)
	s.acks.again = returner.acknowledge
	b.lanes = newLanes(s, b.announcer, b.sizes)
	b.leases = &leases{session: s, announcer: b.announcer, returner: returner}
	b.claims, b.outcomes, b.limits = claims{b.leases}, outcomes{s, returner}, limits{b.leases}
	return b
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
