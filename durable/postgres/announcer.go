package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hashedwheel/hwt/durable/backend"
)

// announcer tells the workers of this process and of other processes that rows are due soon.
type announcer struct {
	*session
	name      string        // distinguishes this process's notifications. Immutable.
	near      chan struct{} // one element requests a notification
	watchers  sync.Map      // functions given to Watch, by their addresses
	listening atomic.Bool   // Notifications arrive. Atomic: written by listen, read by Lease.
}

// Watch implements [backend.Backend].
func (a *announcer) Watch(near func(rows []backend.Row)) (stop func()) {
	a.watchers.Store(&near, near)
	return func() { a.watchers.Delete(&near) }
}

// look asks every watcher for a look at the database.
func (a *announcer) look() {
	a.watchers.Range(func(_, near any) bool {
		near.(func([]backend.Row))(nil)
		return true
	})
}

// listen waits for notifications until the backend is closed. After each connection it
// looks at the database: notifications of the time without one are lost.
func (a *announcer) listen() {
	var patience time.Duration
	for a.ctx.Err() == nil {
		began := time.Now()
		err := a.listenOnce()
		if time.Since(began) > a.options.Timeout {
			patience = 0
		}
		if patience == 0 && a.ctx.Err() == nil {
			a.options.Logger.Warn("durable: cannot listen for notifications; polling until that works", "error", err)
		}
		if errors.Is(err, errDeaf) {
			a.sleep(a.ctx, time.Minute)
		}
		patience = a.pause(a.ctx, patience)
	}
}

// errDeaf reports that LISTEN succeeds, and that a notification does not arrive.
var errDeaf = errors.New("LISTEN succeeds, but notifications do not arrive, as behind PgBouncer in transaction mode; set Options.PollOnly there")

// listenOnce listens on a new connection until the connection breaks. Before workers rely on the
// connection, listenOnce waits for a notification that it has sent itself.
func (a *announcer) listenOnce() error {
	ctx, cancel := context.WithTimeout(a.ctx, a.options.Timeout)
	defer cancel()
	config := a.pool.Config()
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
		ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), time.Second)
		defer cancel()
		conn.Close(ctx)
	}()
	for _, channel := range []string{a.channel(), a.name} {
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize(), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	if err := a.simple(ctx, query(nil, echoSQL, a.name)); err != nil {
		return err
	}
	switch _, err := conn.WaitForNotification(ctx); {
	case err != nil && ctx.Err() != nil && a.ctx.Err() == nil && !conn.IsClosed():
		return errDeaf
	case err != nil:
		return err
	}
	a.listening.Store(true)
	defer a.listening.Store(false)
	a.look()
	for {
		if err := a.awaitNotification(conn); err != nil {
			return err
		}
	}
}

// awaitNotification waits for a notification, or sends a query after a quiet time: only writing
// shows that the peer of a connection is gone.
func (a *announcer) awaitNotification(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(a.ctx, a.options.Timeout)
	defer cancel()
	n, err := conn.WaitForNotification(ctx)
	switch {
	case err == nil && n.Channel == a.channel() && n.Payload != a.name:
		a.look()
	case err != nil && ctx.Err() != nil && a.ctx.Err() == nil && !conn.IsClosed():
		ctx, cancel := context.WithTimeout(a.ctx, a.options.Timeout)
		defer cancel()
		return conn.Ping(ctx)
	}
	return err
}

// channel is the name of the channel for notifications.
func (a *announcer) channel() string { return "hwt:" + a.options.Schema }

// Announce implements [backend.Backend]. It makes other processes look at the database soon.
func (a *announcer) Announce() {
	select {
	case a.near <- struct{}{}:
	default: // already requested
	}
}

// freed makes all workers look for the rows that a worker gives back: the marks of others may
// have passed the rows.
func (a *announcer) freed() {
	a.look()
	a.Announce()
}

// announce notifies other processes of near rows until the backend is closed, in separate
// transactions: a transaction that notifies holds a lock on the whole database while it
// commits. A notification that fails is repeated: if the mark of a worker has passed the rows,
// the worker finds the rows only by the next sweep.
func (a *announcer) announce() {
	var patience time.Duration
	for {
		select {
		case <-a.near:
		case <-a.ctx.Done():
			return
		}
		if err := a.notify(a.ctx); err != nil {
			if !passes(err) { // for example, the queue of notifications is full
				a.trouble.Note(a.options.Logger, "durable: cannot notify other processes; they find near entries by polling", cause(err), err)
			}
			a.Announce()
			patience = a.pause(a.ctx, patience)
			continue
		}
		patience = 0
		a.sleep(a.ctx, 10*time.Millisecond) // many entries share a notification
	}
}

// announceLast sends the last notification of a backend that is closed.
func (a *announcer) announceLast() {
	select {
	case <-a.near:
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		a.notify(ctx) // the next sweep finds the rows if this fails
	default:
	}
}

func (a *announcer) notify(ctx context.Context) error {
	return a.simple(ctx, query(nil, notifySQL, a.channel(), a.name))
}
