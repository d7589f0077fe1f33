package gocronlock_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/postgres"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
	"github.com/hashedwheel/hwt/durable/sqlite"
	"github.com/hashedwheel/hwt/examples/integrations/gocronlock"
)

var kills = flag.Int("kills", 4, "SIGKILLs of replicas per database")

const (
	interval = 2 * time.Second
	hold     = interval / 2
	job      = "report"
)

// Environment variables of a replica.
const replicaVar, placeVar, journalVar = "GOCRONLOCK_REPLICA", "GOCRONLOCK_STORE", "GOCRONLOCK_JOURNAL"

func TestMain(m *testing.M) {
	if os.Getenv(replicaVar) == "" {
		os.Exit(m.Run())
	}
	if err := replica(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// open opens a store in a file or, if place is a URL, on a server.
func open(ctx context.Context, place string) (*durable.Store, error) {
	if !strings.HasPrefix(place, "postgres:") {
		s, err := sqlite.Open(ctx, place, nil)
		if err != nil {
			return nil, err
		}
		return s.Store, nil
	}
	pool, err := pgxpool.New(ctx, place)
	if err != nil {
		return nil, err
	}
	s, err := postgres.Open(ctx, pool, nil)
	if err != nil {
		return nil, err
	}
	return s.Store, nil
}

// replica schedules the job until the process is killed or the test ends. The journal gets a line for
// each run, and for each lock that the replica did not get.
func replica() error {
	name := os.Getenv(replicaVar)
	journal, err := os.OpenFile(os.Getenv(journalVar), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	store, err := open(context.Background(), os.Getenv(placeVar))
	if err != nil {
		return err
	}
	locker, err := gocronlock.New(store, name, hold)
	if err != nil {
		return err
	}
	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		return err
	}
	_, err = s.NewJob(gocron.CronJob(fmt.Sprintf("*/%.0f * * * * *", interval.Seconds()), true), gocron.NewTask(func() {
		fmt.Fprintln(journal, name, time.Now().UnixNano(), ran)
	}), gocron.WithName(job), gocron.WithEventListeners(gocron.AfterLockError(func(_ uuid.UUID, _ string, err error) {
		what := failed
		if errors.Is(err, gocronlock.ErrHeld) {
			what = held
		}
		fmt.Fprintln(journal, name, time.Now().UnixNano(), what)
	})))
	if err != nil {
		return err
	}
	s.Start()
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin) // until the test ends
	return err
}

// process is a replica. Its name is not used again.
type process struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
}

func start(t *testing.T, name, place, journal string) process {
	p := process{name: name, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), replicaVar+"="+name, placeVar+"="+place, journalVar+"="+journal)
	p.cmd.Stderr = os.Stderr
	var err error
	p.stdin, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { p.cmd.Process.Kill(); p.cmd.Wait() }) // after the test, or again
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return p
}

// A line of the journal notes a run, a lock of another replica, or a call without an answer of the
// database.
const ran, held, failed = "ran", "held", "failed"

// run is a line of the journal.
type run struct {
	replica string
	at      time.Time
	what    string
}

// occurrence is the time for which a run began. Timers of the runtime may be early by less than the slack.
func (r run) occurrence() time.Time { return r.at.Add(50 * time.Millisecond).Truncate(interval) }

func runs(t *testing.T, journal string) (all []run) {
	text, err := os.ReadFile(journal)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var r run
		var at int64
		_, err := fmt.Sscan(line, &r.replica, &at, &r.what)
		require.NoError(t, err, line)
		r.at = time.Unix(0, at)
		all = append(all, r)
	}
	return all
}

// One of three processes begins each occurrence, while processes are killed. The test runs on the real
// clock because the processes do.
func TestOneReplicaRunsEachOccurrenceUnderKills(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes for several seconds")
	}
	t.Run("SQLite", func(t *testing.T) { killReplicas(t, filepath.Join(t.TempDir(), "locks.db")) })
	t.Run("PostgreSQL", func(t *testing.T) {
		server, err := pgtest.Start(t.Context(), nil)
		if errors.Is(err, pgtest.ErrNotInstalled) {
			t.Skip(err)
		}
		require.NoError(t, err)
		t.Cleanup(func() { server.Close() }) // it is private
		killReplicas(t, server.URL("postgres"))
	})
}

func killReplicas(t *testing.T, place string) {
	journal := filepath.Join(t.TempDir(), "journal")
	require.NoError(t, os.WriteFile(journal, nil, 0o600))
	store, err := open(t.Context(), place)
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() }) // after a failure
	var replicas [3]process
	lives := 0
	begin := func(i int) {
		replicas[i] = start(t, fmt.Sprint("replica-", lives), place, journal)
		lives++
	}
	for i := range replicas {
		begin(i)
	}
	first := time.Now().Truncate(interval).Add(interval)
	time.Sleep(time.Until(first))
	locks := make(map[time.Time]run) // by occurrence
	killed := make(map[string]time.Time)
	watch, end := context.WithCancel(t.Context())
	var watcher sync.WaitGroup
	watcher.Go(func() { watchLock(watch, store, locks) })
	for n := range *kills {
		if n%2 == 0 { // every other kill is close to an occurrence
			next := time.Now().Add(interval / 20).Truncate(interval).Add(interval)
			time.Sleep(time.Until(next.Add(time.Duration(rand.Int64N(int64(40*time.Millisecond))) - 10*time.Millisecond)))
		} else {
			time.Sleep(rand.N(interval / 4))
		}
		i := rand.N(len(replicas))
		victim := replicas[i]
		require.NoError(t, victim.cmd.Process.Kill())
		victim.cmd.Wait() // it was killed
		killed[victim.name] = time.Now()
		begin(i)
	}
	last := time.Now().Truncate(interval)
	time.Sleep(time.Until(last.Add(interval))) // time for the run
	for _, p := range replicas {
		require.NoError(t, p.stdin.Close())
		require.NoError(t, p.cmd.Wait())
	}
	end()
	watcher.Wait()
	lost := make(map[time.Time]bool)
	for at, lock := range locks {
		end, ok := killed[lock.replica]
		lost[at] = ok && end.Before(at.Add(interval))
	}
	judge(t, runs(t, journal), locks, lost, first, last)
}

// watchLock notes the locks. A lock appears in the database after the death of its replica
// if the server commits later: it is read again and again, not after each kill.
func watchLock(ctx context.Context, store *durable.Store, locks map[time.Time]run) {
	for ctx.Err() == nil {
		lock, err := store.Get(ctx, gocronlock.Prefix+job)
		if err == nil {
			until, _ := time.Parse(time.RFC3339Nano, lock.Headers[gocronlock.Until]) // a wrong one excuses no run
			r := run{replica: lock.Headers[gocronlock.Replica], at: until.Add(-hold)}
			locks[r.occurrence()] = r
		}
		select {
		case <-time.After(interval / 20):
		case <-ctx.Done():
		}
	}
}

// judge reports occurrences with several runs, and without a run. An occurrence has no run if a process
// was killed between its lock and its run, if the lock before began less than hold earlier, if the
// database did not answer in time, or if the machine stalled until gocron skipped it in each replica.
func judge(t *testing.T, all []run, locks map[time.Time]run, lost map[time.Time]bool, first, last time.Time) {
	lines := make(map[time.Time]map[string][]run)
	for _, r := range all {
		at := r.occurrence()
		if lines[at] == nil {
			lines[at] = make(map[string][]run)
		}
		lines[at][r.what] = append(lines[at][r.what], r)
	}
	counts := make(map[string]int)
	for at := first; !at.After(last); at = at.Add(interval) {
		switch runs := lines[at][ran]; {
		case len(runs) == 1:
			counts["once"]++
		case len(runs) == 0 && lost[at]:
			counts["killed before the run"]++
		case len(runs) == 0 && at.Sub(locks[at.Add(-interval)].at) < hold:
			counts["after a late lock"]++
		case len(runs) == 0 && len(lines[at][failed]) > 0:
			counts["without an answer of the database"]++
		case len(lines[at]) == 0:
			counts["skipped by all"]++
		default:
			t.Errorf("the occurrence at %v began %d times: %v (expected: 1)", at, len(runs), lines[at])
		}
	}
	t.Logf("%d kills, occurrences: %v", *kills, counts)
	require.Greater(t, counts["once"], int(last.Sub(first)/interval)/2)
}
