package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Watch implements [backend.Backend].
func (b *postgresBackend) Watch(near func(rows []backend.Row)) (stop func()) {
	b.watchers.Store(&near, near)
	return func() { b.watchers.Delete(&near) }
}

// look asks every watcher for a look at the database.
func (b *postgresBackend) look() {
	b.watchers.Range(func(_, near any) bool {
		near.(func([]backend.Row))(nil)
		return true
	})
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
		if errors.Is(err, errDeaf) {
			b.sleep(b.ctx, time.Minute)
		}
		patience = b.pause(b.ctx, patience)
	}
}

// errDeaf reports that LISTEN succeeds, and that a notification does not arrive.
var errDeaf = errors.New("LISTEN succeeds, but notifications do not arrive, as behind PgBouncer in transaction mode; set Options.PollOnly there")

// listenOnce listens on a new connection until it breaks. Before workers rely on that connection, it
// waits for the notification that it has sent itself.
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
	for _, channel := range []string{b.channel(), b.name} {
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize(), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	if err := b.simple(ctx, query(nil, echoSQL, b.name)); err != nil {
		return err
	}
	switch _, err := conn.WaitForNotification(ctx); {
	case err != nil && ctx.Err() != nil && b.ctx.Err() == nil && !conn.IsClosed():
		return errDeaf
	case err != nil:
		return err
	}
	b.listening.Store(true)
	defer b.listening.Store(false)
	b.look()
	for {
		if err := b.awaitNotification(conn); err != nil {
			return err
		}
	}
}

// awaitNotification waits for a notification, or sends a query after a quiet time: a
// connection whose peer is gone is found only by writing.
func (b *postgresBackend) awaitNotification(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(b.ctx, b.options.Timeout)
	defer cancel()
	n, err := conn.WaitForNotification(ctx)
	switch {
	case err == nil && n.Channel == b.channel() && n.Payload != b.name:
		b.look()
	case err != nil && ctx.Err() != nil && b.ctx.Err() == nil && !conn.IsClosed():
		ctx, cancel := context.WithTimeout(b.ctx, b.options.Timeout)
		defer cancel()
		return conn.Ping(ctx)
	}
	return err
}

// channel is the name of the channel for notifications.
func (b *postgresBackend) channel() string { return "hwt:" + b.options.Schema }

// Announce implements [backend.Backend]. It makes other processes look at the database soon.
func (b *postgresBackend) Announce() {
	select {
	case b.near <- struct{}{}:
	default: // already requested
	}
}

// announce notifies other processes of near rows until the backend is closed, in separate
// transactions: one that notifies holds a lock on the whole database while it commits. A
// notification that fails is repeated: workers whose mark has passed the rows find them by their
// next sweep only.
func (b *postgresBackend) announce() {
	var patience time.Duration
	for {
		select {
		case <-b.near:
		case <-b.ctx.Done():
			return
		}
		if err := b.notify(b.ctx); err != nil {
			b.Announce()
			patience = b.pause(b.ctx, patience)
			continue
		}
		patience = 0
		b.sleep(b.ctx, 10*time.Millisecond) // many entries share a notification
	}
}

// announceLast sends the last notification of a backend that is closed.
func (b *postgresBackend) announceLast() {
	select {
	case <-b.near:
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		b.notify(ctx) // the next sweep finds the rows if this fails
	default:
	}
}

func (b *postgresBackend) notify(ctx context.Context) error {
	return b.simple(ctx, query(nil, notifySQL, b.channel(), b.name))
}
