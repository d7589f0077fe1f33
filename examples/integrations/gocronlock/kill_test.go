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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
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

// noting is a locker that notes each call, and each call that did not get the lock.
type noting struct {
	*gocronlock.Locker
	note func(what string)
}

func (l noting) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	l.note(asked)
	lock, err := l.Locker.Lock(ctx, job)
	if errors.Is(err, gocronlock.ErrHeld) {
		l.note(held)
	} else if err != nil {
		l.note(failed)
	}
	return lock, err
}

// replica schedules the job until the process is killed or the test ends. The journal gets a line for
// each call of Lock, and for its end: the run, or the reason why there is none.
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
	note := func(what string) { fmt.Fprintln(journal, name, time.Now().UnixNano(), what) }
	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(noting{locker, note}))
	if err != nil {
		return err
	}
	_, err = s.NewJob(gocron.CronJob(fmt.Sprintf("*/%.0f * * * * *", interval.Seconds()), true),
		gocron.NewTask(func() { note(ran) }), gocron.WithName(job))
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

// A line of the journal notes a call of Lock, or its end: a run, a lock of another replica, or no answer of
// the database.
const asked, ran, held, failed = "asked", "ran", "held", "failed"

// call is a call of Lock.
type call struct {
	replica  string
	at, over time.Time // its beginning, and its end if it has one
	end      string    // asked if the replica was killed before the end
}

// occurrence is the time for which a call began. Timers of the runtime may be early by less than the slack.
func (c call) occurrence() time.Time { return c.at.Add(50 * time.Millisecond).Truncate(interval) }

// calls returns the calls of a journal by occurrence.
func calls(t *testing.T, journal string) map[time.Time][]*call {
	text, err := os.ReadFile(journal)
	require.NoError(t, err)
	all, last := make(map[time.Time][]*call), make(map[string]*call)
	for line := range strings.Lines(string(text)) {
		var c call
		var at int64
		_, err := fmt.Sscan(line, &c.replica, &at, &c.end)
		require.NoError(t, err, line)
		if c.at, c.over = time.Unix(0, at), time.Unix(0, at); c.end == asked {
			all[c.occurrence()], last[c.replica] = append(all[c.occurrence()], &c), &c
		} else {
			last[c.replica].end, last[c.replica].over = c.end, c.at
		}
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
	for n := range *kills {
		if n%2 == 0 { // every other kill is close to an occurrence
			next := time.Now().Add(interval / 20).Truncate(interval).Add(interval)
			time.Sleep(time.Until(next.Add(time.Duration(rand.Int64N(int64(40*time.Millisecond))) - 10*time.Millisecond)))
		} else {
			time.Sleep(rand.N(interval / 4))
		}
		i := rand.N(len(replicas))
		require.NoError(t, replicas[i].cmd.Process.Kill())
		replicas[i].cmd.Wait() // it was killed
		begin(i)
	}
	last := time.Now().Truncate(interval)
	time.Sleep(time.Until(last.Add(interval))) // time for the run
	for _, p := range replicas {
		require.NoError(t, p.stdin.Close())
		require.NoError(t, p.cmd.Wait())
	}
	judge(t, calls(t, journal), first, last)
}

// judge reports occurrences with several runs, and without a run. An occurrence has no run if a process
// was killed between its call of Lock and its run, if the lock before was taken less than hold earlier, if the
// database did not answer in time, or if the machine stalled until gocron skipped it in each replica.
func judge(t *testing.T, all map[time.Time][]*call, first, last time.Time) {
	counts := make(map[string]int)
	for at := first; !at.After(last); at = at.Add(interval) {
		ends := make(map[string]int)
		for _, c := range all[at] {
			ends[c.end]++
		}
		late := slices.ContainsFunc(all[at.Add(-interval)], func(c *call) bool {
			return c.end != held && at.Sub(c.over) < hold
		})
		switch {
		case ends[ran] == 1:
			counts["once"]++
		case ends[ran] == 0 && ends[asked] > 0:
			counts["killed before the run"]++
		case ends[ran] == 0 && ends[failed] > 0:
			counts["without an answer of the database"]++
		case ends[ran] == 0 && ends[held] > 0 && late:
			counts["after a late lock"]++
		case len(all[at]) == 0:
			counts["skipped by all"]++
		default:
			for _, c := range append(all[at.Add(-interval)], all[at]...) {
				t.Logf("%+v", *c)
			}
			t.Errorf("the occurrence at %v began %d times (expected: 1)", at, ends[ran])
		}
	}
	t.Logf("%d kills, occurrences: %v", *kills, counts)
	require.Greater(t, counts["once"], int(last.Sub(first)/interval)/2)
}
