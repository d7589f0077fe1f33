package check

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

// probesBelow asks whether less than n probes of a name are left.
func probesBelow(n int, name string) string {
	return fmt.Sprintf("SELECT count(*) < %d FROM hwt.entry WHERE key >= '%s%s' AND key < '%s%sa'", n, probePrefix, name, probePrefix, name)
}

// killServer kills the postmaster and its children, and restarts the server, while probes fire. The
// crash loses acknowledgements: the commits are not yet on disk, and the clients, with commits that
// would force a write, are stopped.
func (c *cluster) killServer(ctx context.Context) error {
	begin := now()
	const probes = 400
	if err := c.scene.withStore(ctx, func(store *place.Store) error {
		return setMany(ctx, store, probePrefix+"acked-", probes, time.Now().Add(time.Second), time.Second)
	}); err != nil {
		return err
	}
	var err error
	each := func(f func(pid int) error) {
		for i, config := range c.scene.configs {
			if !config.Works {
				err = errors.Join(err, f(c.scene.procs[i].PID()))
			}
		}
	}
	each(pause)
	err = errors.Join(err, c.await(ctx, probesBelow(probes/2, "acked-"), "probes do not fire"))
	crash := now()
	c.primary.Kill()
	each(resume)
	proc.Sleep(ctx, rand.N(time.Second))
	if err = errors.Join(err, c.primary.Restart(ctx)); err != nil {
		return err
	}
	return c.noteKill(ctx, "SIGKILL of PostgreSQL", begin, crash)
}

// readOnly makes the sessions of the server read-only for a while. Calls wait, and say why.
func (c *cluster) readOnly(ctx context.Context) error {
	begin := now()
	return c.scene.withStore(ctx, func(store *place.Store) error {
		set := func(value string) error {
			return errors.Join(c.execute(ctx, "ALTER SYSTEM SET default_transaction_read_only = "+value), c.execute(ctx, "SELECT pg_reload_conf()"))
		}
		if err := set("on"); err != nil {
			return err
		}
		proc.Sleep(ctx, time.Second)
		short, cancel := context.WithTimeout(ctx, time.Second)
		_, err := store.Set(short, durable.Entry{Key: probePrefix + "denied", Due: time.Now()})
		cancel()
		stats, _ := store.Stats(ctx) // has no sizes if the server is late
		if err := set("off"); err != nil {
			return err
		}
		if err == nil || !strings.Contains(err.Error(), "read-only") || !strings.Contains(stats.LastError, "read-only") {
			return fmt.Errorf("a call on a read-only server returned %v, and Stats have %q", err, stats.LastError)
		}
		c.scene.note("server was read-only", begin, nil)
		return nil
	})
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

// hostile creates functions and operators in a schema on the search_path that fit the store's calls
// better than PostgreSQL's own.
func (c *cluster) hostile(ctx context.Context) error {
	begin := now()
	for _, f := range []string{"nextval(text)", "pg_notify(text, text)", "set_config(text, text, bool)", "octet_length(bytea)"} {
		name, _, _ := strings.Cut(f, "(")
		sql := fmt.Sprintf(`CREATE OR REPLACE FUNCTION public.%s RETURNS int8 LANGUAGE plpgsql AS $$ BEGIN RAISE 'the function %s of another user'; END $$`, f, name)
		if err := c.execute(ctx, sql+`; ALTER DATABASE postgres SET search_path = public, pg_catalog`); err != nil {
			return err
		}
	}
	c.scene.note("functions of another user", begin, noProcess)
	return c.scene.deploy(ctx, 0) // its new sessions have the search_path
}

// slowLine sends large payloads over a line on which all of them take longer than a round trip may.
func (c *cluster) slowLine(ctx context.Context) error {
	begin, large := now(), make([]byte, 1<<20)
	line := c.proxies[1]
	line.Delay(30 * time.Millisecond) // per 64 KiB and connection: 2 MB/s
	defer line.Delay(0)
	const entries = 40
	return c.scene.withStore(ctx, func(store *place.Store) error {
		_, err := store.SetMany(ctx, func(yield func(durable.Entry) bool) {
			for i := range entries {
				if !yield(durable.Entry{Key: numbered(probePrefix+"large-", i), Due: time.Now(), Payload: large}) {
					return
				}
			}
		})
		if err == nil {
			err = c.await(ctx, probesBelow(1, "large-"), "large entries do not pass a slow line")
		}
		c.scene.note("large payloads on a slow line", begin, nil)
		return err
	})
}
