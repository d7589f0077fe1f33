package postgres

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hashedwheel/hwt/durable/backend"
)

// watchers are the functions given to Watch.
type watchers struct {
	mu   sync.Mutex
	next int
	near map[int]func([]backend.Row) // Guarded by mu.
}

// Watch implements [backend.Backend].
func (b *postgresBackend) Watch(near func(rows []backend.Row)) (stop func()) {
	w := &b.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	id := w.next
	w.near[id] = near
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.near, id)
	}
}

// look asks every watcher for a look at the database.
func (w *watchers) look() {
	w.mu.Lock()
	all := slices.Collect(maps.Values(w.near))
	w.mu.Unlock()
	for _, near := range all {
		near(nil)
	}
}

// listen waits for notifications until the backend is closed. After each connection it
// looks at the database: notifications of the time without one are lost.
func (b *postgresBackend) listen() {
	var patience time.Duration
	for b.ctx.Err() == nil {
		began := time.Now()
		err := b.listenOnce()
		if time.Since(began) > b.options.Timeout {
			patience = 0
		}
		if patience == 0 && b.ctx.Err() == nil {
			b.options.Logger.Warn("durable: cannot listen for notifications; polling until that works", "error", err)
		}
		patience = b.pause(b.ctx, patience)
	}
}

// listenOnce listens on a new connection until it breaks.
func (b *postgresBackend) listenOnce() error {
	ctx, cancel := context.WithTimeout(b.ctx, b.options.Timeout)
	defer cancel()
	config := b.pool.Config()
	if config.BeforeConnect != nil { // which may set a new password
		if err := config.BeforeConnect(ctx, config.ConnConfig); err != nil {
			return err
		}
	}
	config.ConnConfig.OnNotification = nil // or notifications go there, and WaitForNotification returns nil
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), time.Second)
		defer cancel()
		conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, b.sql.listen, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	b.listening.Store(true)
	defer b.listening.Store(false)
	b.watchers.look()
	for err == nil {
		err = b.awaitNotification(conn)
	}
	return err
}

// awaitNotification waits for a notification, or sends a query after a quiet time: a
// connection whose peer is gone is found only by writing.
func (b *postgresBackend) awaitNotification(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(b.ctx, b.options.Timeout)
	defer cancel()
	n, err := conn.WaitForNotification(ctx)
	switch {
	case err == nil && n.Payload != b.name:
		b.watchers.look()
	case err != nil && ctx.Err() != nil && b.ctx.Err() == nil && !conn.IsClosed():
		ctx, cancel := context.WithTimeout(b.ctx, b.options.Timeout)
		defer cancel()
		return conn.Ping(ctx)
	}
	return err
}

// Announce implements [backend.Backend].
func (b *postgresBackend) Announce() { b.announcer.announce() }

// announcer notifies other processes of near rows in separate transactions: a
// transaction that notifies holds a lock on the whole database while it commits.
type announcer struct {
	b    *postgresBackend
	wake chan struct{}
}

// announce makes other processes look at the database soon.
func (a *announcer) announce() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// run notifies until the backend is closed. A notification that fails is repeated: workers whose
// mark has passed the rows find them by their next sweep only.
func (a *announcer) run() {
	var patience time.Duration
	for {
		select {
		case <-a.wake:
		case <-a.b.ctx.Done():
			return
		}
		if err := a.notify(a.b.ctx); err != nil {
			a.announce()
			patience = a.b.pause(a.b.ctx, patience)
			continue
		}
		patience = 0
		a.b.sleep(a.b.ctx, 10*time.Millisecond) // many entries share a notification
	}
}

// flush sends the last notification of a backend that is closed.
func (a *announcer) flush() {
	select {
	case <-a.wake:
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		a.notify(ctx) // the next sweep finds the rows if this fails
	default:
	}
}

func (a *announcer) notify(ctx context.Context) error {
	return a.b.simple(ctx, query(nil, a.b.sql.notify, a.b.name))
}
