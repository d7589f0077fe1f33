package queues

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/postgres"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

// rivals are the columns of the table. All commits are synced to the disk.
var rivals = []struct {
	name string
	open func(t *testing.T, r *recorder) queue
}{
	{"durable, SQLite", openSQLite},
	{"River, SQLite", riverSQLite},
	{"durable, PostgreSQL", openPostgres},
	{"River, PostgreSQL", riverPostgres},
	{"asynq, Redis", openAsynq},
}

// poll replaces pauses of one to five seconds between looks at the database.
const poll = 100 * time.Millisecond

func inProcess() []int { return nil }

// server starts PostgreSQL and returns its address and its processes.
func server(t *testing.T) (*pgxpool.Pool, func() []int) {
	s, err := pgtest.Start(t.Context(), &pgtest.Options{Settings: map[string]string{
		"shared_buffers": "512MB", "max_wal_size": "4GB", "max_connections": "200"}})
	if errors.Is(err, pgtest.ErrNotInstalled) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() }) // it is private
	pool, err := pgxpool.New(t.Context(), s.URL("postgres")+"&pool_max_conns=20")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool, func() []int { return append(slices.Collect(maps.Keys(s.Children())), s.PID()) }
}

func ofStore(t *testing.T, s *durable.Store, r *recorder, servers func() []int) queue {
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- s.Work(ctx, func(_ context.Context, f durable.Firing) error { r.fired(f.Due); return nil }, nil)
	}()
	t.Cleanup(func() { end(); require.NoError(t, <-done) })
	return queue{
		set: func(ctx context.Context, key string, due time.Time) error {
			_, err := s.Set(ctx, durable.Entry{Key: key, Due: due})
			return err
		},
		setMany: func(ctx context.Context, keys []string, due []time.Time) error {
			_, err := s.SetMany(ctx, func(yield func(durable.Entry) bool) {
				for i := range keys {
					if !yield(durable.Entry{Key: keys[i], Due: due[i]}) {
						return
					}
				}
			})
			return err
		},
		cancel:  func(ctx context.Context, key string) error { _, err := s.Cancel(ctx, key); return err },
		servers: servers,
	}
}

func openSQLite(t *testing.T, r *recorder) queue {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "timers.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return ofStore(t, s.Store, r, inProcess)
}

func openPostgres(t *testing.T, r *recorder) queue {
	pool, servers := server(t)
	s, err := postgres.Open(t.Context(), pool, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	q := ofStore(t, s.Store, r, servers)
	q.pool = pool
	return q
}

// check is a job of River.
type check struct {
	Key string    `json:"key"`
	Due time.Time `json:"due"`
}

func (check) Kind() string { return "check" }

func riverSQLite(t *testing.T, r *recorder) queue {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "river.db")+
		"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(10000)&_txlock=immediate")
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return openRiver(t, riversqlite.New(db), r, inProcess)
}

func riverPostgres(t *testing.T, r *recorder) queue {
	pool, servers := server(t)
	q := openRiver(t, riverpgxv5.New(pool), r, servers)
	q.pool = pool
	return q
}

// openRiver starts a client. River cancels by the ID that it has given, which a caller
// must keep: here a map does.
func openRiver[Tx any](t *testing.T, driver riverdriver.Driver[Tx], r *recorder, servers func() []int) queue {
	m, err := rivermigrate.New(driver, nil)
	require.NoError(t, err)
	_, err = m.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(_ context.Context, j *river.Job[check]) error {
		r.fired(j.Args.Due)
		return nil
	}))
	client, err := river.NewClient(driver, &river.Config{
		Logger:            slog.New(slog.DiscardHandler),
		FetchCooldown:     poll / 10,
		FetchPollInterval: poll,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1000}},
		Workers:           workers,
	})
	require.NoError(t, err)
	require.NoError(t, client.Start(context.Background()))
	t.Cleanup(func() { require.NoError(t, client.StopAndCancel(context.Background())) })
	var ids sync.Map
	return queue{
		set: func(ctx context.Context, key string, due time.Time) error {
			job, err := client.Insert(ctx, check{key, due}, &river.InsertOpts{ScheduledAt: due})
			if err == nil {
				ids.Store(key, job.Job.ID)
			}
			return err
		},
		setMany: func(ctx context.Context, keys []string, due []time.Time) error {
			jobs := make([]river.InsertManyParams, len(keys))
			for i := range keys {
				jobs[i] = river.InsertManyParams{Args: check{keys[i], due[i]}, InsertOpts: &river.InsertOpts{ScheduledAt: due[i]}}
			}
			_, err := client.InsertManyFast(ctx, jobs)
			return err
		},
		cancel: func(ctx context.Context, key string) error {
			id, ok := ids.Load(key)
			if !ok {
				return fmt.Errorf("no ID of %s", key)
			}
			_, err := client.JobCancel(ctx, id.(int64))
			return err
		},
		servers: servers,
	}
}

// openAsynq starts Redis, which syncs each command to its log, and a server of asynq.
func openAsynq(t *testing.T, r *recorder) queue {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed")
	}
	port, err := pgtest.FreePort()
	require.NoError(t, err)
	address := fmt.Sprintf("127.0.0.1:%d", port)
	redis := exec.Command(path, "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--appendonly", "yes", "--appendfsync", "always")
	require.NoError(t, redis.Start())
	t.Cleanup(func() { redis.Process.Signal(os.Interrupt); redis.Wait() }) // it is private
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	}, 20*time.Second, 20*time.Millisecond)
	opt := asynq.RedisClientOpt{Addr: address, PoolSize: callers}
	client, inspector := asynq.NewClient(opt), asynq.NewInspector(opt)
	s := asynq.NewServer(opt, asynq.Config{Concurrency: 1000, LogLevel: asynq.FatalLevel, DelayedTaskCheckInterval: poll, TaskCheckInterval: poll})
	require.NoError(t, s.Start(asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error {
		var due time.Time
		err := due.UnmarshalBinary(task.Payload())
		r.fired(due)
		return err
	})))
	t.Cleanup(func() { s.Shutdown(); client.Close(); inspector.Close() })
	set := func(ctx context.Context, key string, due time.Time) error {
		payload, err := due.MarshalBinary()
		if err == nil {
			_, err = client.EnqueueContext(ctx, asynq.NewTask("check", payload), asynq.TaskID(key), asynq.ProcessAt(due))
		}
		return err
	}
	return queue{
		set: set,
		setMany: func(ctx context.Context, keys []string, due []time.Time) error {
			errs := make(chan error, callers) // asynq has no batches
			for c := range callers {
				go func() {
					var err error
					for i := c; i < len(keys) && err == nil; i += callers {
						err = set(ctx, keys[i], due[i])
					}
					errs <- err
				}()
			}
			var err error
			for range callers {
				err = errors.Join(err, <-errs)
			}
			return err
		},
		cancel:  func(_ context.Context, key string) error { return inspector.DeleteTask("default", key) },
		servers: func() []int { return []int{redis.Process.Pid} },
	}
}
