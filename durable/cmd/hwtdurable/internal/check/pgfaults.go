package check

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

// killServer kills the postmaster and its children, and restarts the server. It repeats that until a crash
// has lost acknowledgements.
func (c *cluster) killServer(ctx context.Context) error {
	own := c.scene.reads
	own.Schema, own.Lease = "acks", time.Minute // the lease outlasts the restart
	store, err := own.Open(ctx, false)
	if err != nil {
		return err
	}
	lost, err := false, c.writeLog(ctx, "SET wal_writer_delay = '10s'") // it would write the acknowledgements
	for i := 0; i < 5 && !lost && err == nil; i++ {
		lost, err = c.loseAcks(ctx, store)
	}
	if !lost && err == nil {
		err = errors.New("no crash of the server has lost acknowledgements")
	}
	return errors.Join(err, c.writeLog(ctx, "RESET wal_writer_delay"), store.Close())
}

// writeLog changes a setting of the server's writer of the log.
func (c *cluster) writeLog(ctx context.Context, change string) error {
	return errors.Join(c.execute(ctx, "ALTER SYSTEM "+change), c.execute(ctx, "SELECT pg_reload_conf()"))
}

// loseAcks crashes the server between acknowledgements of a worker of this process and the next commit that
// waits for the disk, which would write them: the other processes stand still. It reports whether the
// crash has lost some. The worker lives, and repeats them: no entry stays claimed or fires again.
func (c *cluster) loseAcks(ctx context.Context, store *place.Store) (lost bool, err error) {
	const entries = 40
	var calls atomic.Int64
	ended, done := make(chan struct{}), make(chan error, 1)
	working, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		done <- store.Work(working, func(context.Context, durable.Firing) error {
			calls.Add(1)
			<-ended
			return nil
		}, nil)
	}()
	err = setMany(ctx, store, durable.Entry{Due: time.Now()}, entries, 0)
	for calls.Load() < entries && err == nil {
		proc.Sleep(ctx, time.Millisecond)
		err = ctx.Err()
	}
	begin := now()
	each := func(f func(pid int) error) {
		for _, p := range c.scene.procs {
			err = errors.Join(err, f(p.PID()))
		}
	}
	each(pause)
	close(ended)
	err = errors.Join(err, c.execute(ctx, `DO $$ BEGIN WHILE EXISTS (SELECT FROM acks.entry) LOOP PERFORM pg_sleep(0.001); END LOOP; END $$`))
	crash := now()
	c.primary.Kill()
	each(resume)
	line := c.proxies[0] // of the store
	line.Hold()
	err = errors.Join(err, c.primary.Restart(ctx))
	if err == nil {
		err = c.execute(ctx, "SELECT EXISTS (SELECT FROM acks.entry)", &lost)
	}
	line.Release()
	if err == nil {
		err = c.await(ctx, "SELECT NOT EXISTS (SELECT FROM acks.entry)", "acknowledgements that a crash has lost are not repeated")
	}
	if err == nil {
		err = c.noteKill(ctx, "SIGKILL of PostgreSQL", begin, crash)
	}
	if err == nil {
		c.scene.faults[len(c.scene.faults)-1].Stops = true
	}
	stop()
	if err = errors.Join(err, <-done); err == nil && calls.Load() != entries {
		err = fmt.Errorf("%d entries had %d calls of their handlers after a crash of the server", entries, calls.Load())
	}
	return lost, err
}

// crossKey stores one key in three transactions while its entry fires. They do not deadlock if each one
// locks the rows of the key in one order.
func (c *cluster) crossKey(ctx context.Context) error {
	begin, own, direct := now(), c.scene.reads, c.scene.reads
	own.URL += "&application_name=crossed"
	direct.URL = c.primary.URL("postgres")
	store, err := own.Open(ctx, true)
	if err != nil {
		return err
	}
	other, err := direct.Open(ctx, true)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	for i := 0; i < 3 && err == nil; i++ {
		err = c.cross(ctx, store, other, numbered(crossedPrefix, i))
	}
	c.scene.note("transactions on one key", begin, noProcess)
	return errors.Join(err, store.Close(), other.Close())
}

// cross begins while the entry fires, and its key has no other one. The second transaction waits for the
// first one, and the third one comes between two statements of the second one.
func (c *cluster) cross(ctx context.Context, store, other *place.Store, key string) error {
	for _, step := range []struct{ payload, is string }{{"slow", "bool_and(state = 1)"}, {"", "bool_and(slot <> 0)"}} {
		if _, err := store.Set(ctx, durable.Entry{Key: key, Due: time.Now(), Payload: []byte(step.payload)}); err != nil {
			return err
		}
		if err := c.await(ctx, fmt.Sprintf("SELECT count(*) = 1 AND %s FROM hwt.entry WHERE key = '%s'", step.is, key), "an entry does not fire"); err != nil {
			return err
		}
	}
	set := func(tx durable.Tx) error {
		_, err := tx.Set(ctx, durable.Entry{Key: key, Due: time.Now().Add(time.Hour)})
		return err
	}
	second, third := make(chan error, 1), make(chan error, 1)
	line := c.proxies[0] // of the second one
	defer line.Release()
	err := other.InTx(ctx, func(tx durable.Tx) error {
		if err := set(tx); err != nil {
			return err
		}
		go func() { second <- store.InTx(ctx, set) }()
		defer line.Hold()
		return c.await(ctx, `SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'crossed' AND wait_event_type = 'Lock'`,
			"a transaction does not wait for another one on its key")
	})
	if err != nil {
		return err
	}
	go func() { third <- other.InTx(ctx, set) }()
	proc.Sleep(ctx, 300*time.Millisecond)
	line.Release()
	err = errors.Join(<-second, <-third)
	if err == nil {
		_, err = store.Cancel(ctx, key)
	}
	return err
}

// readOnly makes the sessions of the server read-only, and then lets only new sessions write, as after a failover by
// which the address leads to another server. Calls wait and say why, and then succeed on new connections. All connections of
// the pool are open before, so that only a reset of the pool opens a new one.
func (c *cluster) readOnly(ctx context.Context) error {
	begin := now()
	return c.scene.withStore(ctx, func(store *place.Store) error {
		set := func(change string) error {
			return errors.Join(c.execute(ctx, "ALTER SYSTEM "+change), c.execute(ctx, "SELECT pg_reload_conf()"))
		}
		try := func(patience time.Duration) error {
			short, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			_, err := store.Set(short, durable.Entry{Key: probePrefix + "denied", Due: time.Now()})
			return err
		}
		err := errors.Join(fill(ctx, store.Pool), set("SET default_transaction_read_only = on"))
		proc.Sleep(ctx, time.Second)
		denied := try(time.Second)
		stats, _ := store.Stats(ctx) // has no sizes if the server is late
		if denied == nil || !strings.Contains(denied.Error(), "read-only") || !strings.Contains(stats.LastError, "read-only") {
			err = errors.Join(err, fmt.Errorf("a call on a read-only server returned %v, and Stats have %q", denied, stats.LastError))
		}
		err = errors.Join(err, c.execute(ctx, "BEGIN READ WRITE; ALTER ROLE postgres SET default_transaction_read_only = off; COMMIT"))
		if err == nil {
			err = try(timeout)
		}
		err = errors.Join(err, set("RESET default_transaction_read_only"), c.execute(ctx, "ALTER ROLE postgres RESET default_transaction_read_only"))
		c.scene.note("server was read-only", begin, nil)
		return err
	})
}

// fill makes a pool open all of its connections.
func fill(ctx context.Context, pool *pgxpool.Pool) error {
	for range pool.Config().MaxConns {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
	}
	return nil
}

// rewind starts the store's sequences again while no process runs, as a copy of the rows alone does.
func (c *cluster) rewind(ctx context.Context) error {
	begin := now()
	pids, err := c.scene.killAll(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"generation", "worker_id_seq", "witness"} {
		if err := c.execute(ctx, "ALTER SEQUENCE hwt."+name+" RESTART"); err != nil {
			return err
		}
	}
	c.scene.note("sequences behind their rows", begin, pids).Stops = true
	return c.scene.startAll(ctx)
}

// hostile creates functions in a schema on the search_path that fit the store's calls
// better than PostgreSQL's own, or as well. A client and a worker begin sessions with that path.
func (c *cluster) hostile(ctx context.Context) error {
	begin := now()
	for _, f := range []string{"nextval(text)", "nextval(regclass)", "hashtextextended(text, int8)", "pg_notify(text, text)", "set_config(text, text, bool)", "octet_length(bytea)"} {
		name, _, _ := strings.Cut(f, "(")
		sql := fmt.Sprintf(`CREATE OR REPLACE FUNCTION public.%s RETURNS int8 LANGUAGE plpgsql AS $$ BEGIN RAISE 'the function %s of another user'; END $$`, f, name)
		if err := c.execute(ctx, sql+`; ALTER DATABASE postgres SET search_path = public, pg_catalog`); err != nil {
			return err
		}
	}
	c.scene.note("functions of another user", begin, noProcess)
	return errors.Join(c.scene.deploy(ctx, 0), c.scene.deploy(ctx, len(c.scene.configs)-1))
}

// slowLine sends large payloads over a line on which all of them take longer than a round trip may.
func (c *cluster) slowLine(ctx context.Context) error {
	begin, line := now(), c.proxies[1]
	line.Delay(30 * time.Millisecond) // per 64 KiB and connection: 2 MB/s
	defer line.Delay(0)
	return c.scene.withStore(ctx, func(store *place.Store) error {
		err := setMany(ctx, store, durable.Entry{Key: probePrefix + "large-", Due: time.Now(), Payload: make([]byte, 1<<20)}, 40, 0)
		if err == nil {
			err = c.await(ctx, fmt.Sprintf("SELECT count(*) = 0 FROM hwt.entry WHERE key >= '%[1]slarge-' AND key < '%[1]slarge-a'", probePrefix),
				"large entries do not pass a slow line")
		}
		c.scene.note("large payloads on a slow line", begin, nil)
		return err
	})
}
