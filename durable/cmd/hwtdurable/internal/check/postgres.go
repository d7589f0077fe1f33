package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// cluster is a PostgreSQL server, with a synchronous standby if it has one, behind a
// proxy for clients and one for workers.
type cluster struct {
	scene   *scene
	primary *pgtest.Server
	standby *pgtest.Server
	proxies [2]*pgtest.Proxy
	done    []*pgtest.Server
}

// The server finds deadlocks before waits for locks end otherwise, and keeps commits that no one waits for
// in memory: a crash loses them. Its standby is back before leases end.
var settings = map[string]string{"max_connections": "100", "deadlock_timeout": "10ms", "wal_writer_delay": "2s",
	"wal_retrieve_retry_interval": "50ms"}

// postgresFaults injects all faults into clients, workers, connections, and the server,
// and fails over once in the middle.
func postgresFaults(ctx context.Context, dir string, d time.Duration) (Report, error) {
	c, err := postgresScene(ctx, dir, true)
	if err != nil {
		return Report{}, err
	}
	defer c.close()
	s := c.scene
	return c.play(ctx, d, append(s.processFaults(), c.killBackend, c.killServer, c.stopBackend, c.stopServer,
		c.cut, c.delay, c.delay, c.failover, c.readOnly, c.rewind, c.hostile, c.slowLine, c.crossKey, s.pause, s.limit, s.fair, s.serial, s.abandon))
}

// play plays the scene. Operations on single keys meet no deadlock.
func (c *cluster) play(ctx context.Context, d time.Duration, faults []fault) (Report, error) {
	r, err := c.scene.play(ctx, d, postgresJudge, faults)
	for _, server := range c.done {
		log := server.Log()
		if n := strings.Count(log, "deadlock detected"); n > 0 {
			r.Violations = append(r.Violations, fmt.Sprintf("%d deadlocks: %.1000s", n, log[strings.Index(log, "deadlock detected"):]))
		}
	}
	return r, err
}

// postgresScene starts the servers and the proxies. The caller closes the cluster.
func postgresScene(ctx context.Context, dir string, kinds bool) (_ *cluster, err error) {
	c := &cluster{scene: &scene{dir: dir}}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.primary, err = pgtest.Start(ctx, &pgtest.Options{Settings: settings}); err != nil {
		return nil, err
	}
	c.done = append(c.done, c.primary)
	if err := c.addStandby(ctx); err != nil {
		return nil, err
	}
	var places [2]place.Place
	for i := range places {
		if c.proxies[i], err = pgtest.NewProxy(c.primary.Address()); err != nil {
			return nil, err
		}
		places[i] = place.Place{Schema: "hwt", Lease: lease, URL: fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", c.proxies[i].Address())}
	}
	client := Config{Place: places[0], Dir: dir, Callers: 8, Keys: 100, Kinds: kinds}
	worker := Config{Place: places[1], Dir: dir, Works: true, Kinds: kinds}
	c.scene.resolve, c.scene.reads, c.scene.configs = c.resolve, places[0], []Config{client, client, worker, worker}
	return c, nil
}

// A worker counts a reading of the database's clock from the end of the round trip: no
// delay makes it early. The tolerance is how far the wall clock may drift from the
// monotonic one before the worker reads again.
var postgresJudge = Judge{Tolerance: time.Duration(clockError)}

func (c *cluster) close() {
	c.scene.end()
	for _, p := range c.proxies {
		if p != nil {
			p.Close()
		}
	}
	for _, s := range c.done {
		s.Close()
	}
}

// execute runs a statement on the primary.
func (c *cluster) execute(ctx context.Context, sql string, scan ...any) error {
	conn, err := pgx.Connect(ctx, c.primary.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if len(scan) > 0 {
		return conn.QueryRow(ctx, sql).Scan(scan...)
	}
	_, err = conn.Exec(ctx, sql)
	return err
}

// addStandby starts a synchronous standby.
func (c *cluster) addStandby(ctx context.Context) error {
	standby, err := c.primary.Standby(ctx)
	if err != nil {
		return err
	}
	c.standby = standby
	c.done = append(c.done, standby)
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'standby'", "SELECT pg_reload_conf()"} {
		if err := c.execute(ctx, sql); err != nil {
			return err
		}
	}
	return c.awaitSync(ctx)
}

// await waits until a query returns true, for two minutes at most. The error says that it does not.
func (c *cluster) await(ctx context.Context, sql, never string) error {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end) && ctx.Err() == nil; proc.Sleep(ctx, 10*time.Millisecond) {
		var is bool
		if err := c.execute(ctx, sql, &is); err == nil && is {
			return nil
		}
	}
	return cmp.Or(ctx.Err(), errors.New(never))
}

// awaitSync waits until commits wait for the standby.
func (c *cluster) awaitSync(ctx context.Context) error {
	return c.await(ctx, "SELECT coalesce(max(sync_state), '') = 'sync' FROM pg_stat_replication", "the standby did not become synchronous")
}

// resolve waits until the server has ended the connections of a dead process.
func (c *cluster) resolve(ctx context.Context, pid int) error {
	sql := fmt.Sprintf("SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'check-%d'", pid)
	return c.await(ctx, sql, "the server keeps connections of a dead process")
}

// killBackend kills a process of the server. The server then restarts itself.
func (c *cluster) killBackend(ctx context.Context) error {
	begin := now()
	pid := c.backend()
	if pid == 0 || kill(pid) != nil {
		return nil
	}
	return c.noteKill(ctx, "SIGKILL of a PostgreSQL backend", begin, begin)
}

// noteKill waits until the server is up and commits again, which wait for its standby, and until no entry
// of the time before the crash is claimed: the workers live, and repeat the acknowledgements that the
// crash has lost.
func (c *cluster) noteKill(ctx context.Context, kind string, begin, crash int64) error {
	claimed := fmt.Sprintf("SELECT NOT EXISTS (SELECT FROM hwt.entry WHERE state = 1 AND due < %d)", crash)
	err := errors.Join(c.awaitSync(ctx), c.await(ctx, claimed, "entries that have fired stay claimed after a crash"))
	if err != nil {
		return err
	}
	proc.Sleep(ctx, time.Second) // a firing that was under way counts as part of the fault
	c.scene.note(kind, begin, nil)
	return nil
}

// backend returns a process that serves a connection, or 0.
func (c *cluster) backend() int {
	for pid, title := range c.primary.Children() {
		if strings.Contains(title, "127.0.0.1(") && !strings.Contains(title, "walsender") {
			return pid
		}
	}
	return 0
}

func (c *cluster) stopBackend(ctx context.Context) error {
	pid := c.backend()
	if pid == 0 {
		return nil
	}
	return c.scene.stall(ctx, "SIGSTOP of a PostgreSQL backend", nil, pid)
}

// stopServer stops the postmaster and all its children.
func (c *cluster) stopServer(ctx context.Context) error {
	pids := append(slices.Collect(maps.Keys(c.primary.Children())), c.primary.PID())
	return c.scene.stall(ctx, "SIGSTOP of PostgreSQL", nil, pids...)
}

// proxy returns the proxy of the clients or of the workers, with the processes behind it.
func (c *cluster) proxy() (p *pgtest.Proxy, users []int) {
	works := rand.IntN(2)
	for i, config := range c.scene.configs {
		if config.Works == (works == 1) {
			users = append(users, c.scene.procs[i].PID())
		}
	}
	return c.proxies[works], users
}

func (c *cluster) cut(context.Context) error {
	p, users := c.proxy()
	begin := now()
	if p.Cut() > 0 {
		c.scene.note("connections cut", begin, users)
	}
	return nil
}

// delay holds or delays the data of some processes, and may then cut their connections.
func (c *cluster) delay(ctx context.Context) error {
	p, users := c.proxy()
	begin, before, kind := now(), p.Waited(), "connections held"
	if rand.IntN(2) == 0 {
		kind = "answers late"
		p.Delay(rand.N(time.Second))
	} else {
		p.Hold()
	}
	proc.Sleep(ctx, c.scene.pauseTime())
	if rand.IntN(2) == 0 {
		p.Cut()
	}
	p.Release()
	p.Delay(0)
	proc.Sleep(ctx, time.Second)
	if p.Waited() > before {
		c.scene.note(kind, begin, users)
	}
	return nil
}

// failover kills the primary, promotes the synchronous standby, and adds a new one.
func (c *cluster) failover(ctx context.Context) error {
	begin := now()
	c.primary.Kill()
	if err := c.standby.Promote(ctx); err != nil {
		return err
	}
	c.primary = c.standby
	for _, p := range c.proxies {
		p.Retarget(c.primary.Address())
	}
	err := c.addStandby(ctx) // for which commits wait
	proc.Sleep(ctx, time.Second)
	c.scene.note("failover to the synchronous standby", begin, nil)
	return err
}
