package check

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

var length = flag.Duration("for", 3*time.Second, "length of each run of TestFullStores")

// TestFullStores runs stores near their own limit, and on a small file system that another
// program fills. No call that was rejected has an effect.
func TestFullStores(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 seconds")
	}
	for name, fill := range map[string]func(context.Context, string, time.Duration) (Report, error){
		"limit": fillStore, "file system": fillDisk, "tablespace": fillTablespace, "log of PostgreSQL": fillLog,
	} {
		t.Run(name, func(t *testing.T) {
			r, err := fill(t.Context(), t.TempDir(), *length)
			if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, pgtest.ErrNotInstalled) {
				t.Skip(err)
			}
			require.NoError(t, err)
			require.Empty(t, r.Violations)
			require.Zero(t, r.Undecided)
			require.NotEmpty(t, r.Faults)
			if name != "log of PostgreSQL" { // which stops the server: calls wait for it
				require.NotZero(t, r.Rejected)
			}
			t.Logf("%d operations, %d rejected, %d firings, %v", r.Operations, r.Rejected, r.Firings, r.Faults)
		})
	}
}

// fillStore keeps more data than fits. Operations that add nothing always have room.
func fillStore(ctx context.Context, dir string, d time.Duration) (Report, error) {
	where := place.Place{File: filepath.Join(dir, "store.db"), MaxBytes: 1_000_000, Lease: lease}
	s := crowd(where, dir, 400)
	return s.play(ctx, d, Judge{Tolerance: time.Millisecond, Full: true, Room: true}, []fault{
		func(ctx context.Context) error { return s.kill(ctx, rand.IntN(len(s.configs))) }})
}

// fillDisk lets another program take all space that is left, and gives it back.
func fillDisk(ctx context.Context, dir string, d time.Duration) (Report, error) {
	disk := filepath.Join(dir, "disk")
	if err := errors.Join(os.Mkdir(disk, 0o700), mount(disk, 24<<20)); err != nil {
		return Report{}, err
	}
	defer unmount(disk)
	s := crowd(place.Place{File: filepath.Join(disk, "store.db"), Lease: lease}, dir, 100)
	return s.play(ctx, d, Judge{Tolerance: time.Millisecond, Full: true}, []fault{func(ctx context.Context) error {
		begin := now()
		if err := occupy(ctx, disk); err != nil {
			return err
		}
		proc.Sleep(ctx, 2*lease) // until workers have a lease again
		s.note("times without space", begin, nil)
		return nil
	}})
}

// occupy takes all space of a file system, and gives it back later.
func occupy(ctx context.Context, disk string) error {
	other, err := os.Create(filepath.Join(disk, "other"))
	if err != nil {
		return err
	}
	defer other.Close()
	for end := time.Now().Add(time.Second + rand.N(2*time.Second)); time.Now().Before(end) && ctx.Err() == nil; proc.Sleep(ctx, 50*time.Millisecond) {
		for err = nil; err == nil; { // again and again, because others free space
			_, err = other.Write(make([]byte, 4096))
		}
	}
	return os.Remove(other.Name())
}

var fullPostgresJudge = Judge{Tolerance: postgresJudge.Tolerance, Full: true}

// fillTablespace is fillDisk for the tables and indexes of PostgreSQL.
func fillTablespace(ctx context.Context, dir string, d time.Duration) (Report, error) {
	c, disk, err := smallCluster(ctx, dir, 24<<20)
	if err != nil {
		return Report{}, err
	}
	defer c.close()
	defer unmount(disk)
	if err := c.execute(ctx, fmt.Sprintf("CREATE TABLESPACE small LOCATION '%s'", disk)); err != nil {
		return Report{}, err
	}
	if err := c.execute(ctx, "CREATE DATABASE small TABLESPACE small"); err != nil {
		return Report{}, err
	}
	c.scene = crowd(place.Place{URL: c.primary.URL("small"), Schema: "hwt", Lease: lease}, dir, 100)
	c.scene.resolve = c.resolve
	for i := range c.scene.configs {
		c.scene.configs[i].Payload = 1500 // longer ones are compressed
	}
	return c.scene.play(ctx, d, fullPostgresJudge, []fault{func(ctx context.Context) error {
		begin := now()
		if err := occupy(ctx, disk); err != nil {
			return err
		}
		proc.Sleep(ctx, 2*lease)
		c.scene.note("times without space", begin, nil)
		return nil
	}})
}

// fillLog is fillDisk for the write-ahead log of PostgreSQL, without which the server stops.
func fillLog(ctx context.Context, dir string, d time.Duration) (Report, error) {
	c, disk, err := smallCluster(ctx, dir, 96<<20)
	if err != nil {
		return Report{}, err
	}
	defer c.close()
	defer unmount(disk)
	if err := c.moveLog(ctx, disk); err != nil {
		return Report{}, err
	}
	c.scene = crowd(place.Place{URL: c.primary.URL("postgres"), Schema: "hwt", Lease: lease}, dir, 100)
	c.scene.resolve = c.resolve
	return c.scene.play(ctx, d, fullPostgresJudge, []fault{func(ctx context.Context) error {
		begin, down := now(), make(chan bool)
		go func() {
			for failed := false; ; proc.Sleep(ctx, 50*time.Millisecond) {
				select {
				case down <- failed:
					return
				default: // use the log's files up
					failed = c.execute(ctx, "SELECT pg_switch_wal()") != nil || failed
				}
			}
		}()
		err := occupy(ctx, disk)
		failed := <-down
		if err == nil {
			err = c.revive(ctx)
		}
		if err != nil {
			return fmt.Errorf("%w: %s", err, c.primary.Log())
		}
		proc.Sleep(ctx, 2*lease)
		if failed {
			c.scene.note("times without space for the log", begin, nil)
		}
		return nil
	}})
}

// revive restarts the server until it answers: one whose recovery finds no space ends.
func (c *cluster) revive(ctx context.Context) error {
	for end := time.Now().Add(time.Minute); ; proc.Sleep(ctx, 50*time.Millisecond) {
		if err := c.primary.Restart(ctx); err != nil {
			return err
		}
		err := c.execute(ctx, "SELECT 1")
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

// smallCluster starts a server without a standby, and mounts a file system of a size for it.
func smallCluster(ctx context.Context, dir string, size int) (c *cluster, disk string, err error) {
	server, err := pgtest.Start(ctx, &pgtest.Options{Settings: map[string]string{"max_connections": "100", "min_wal_size": "32MB", "max_wal_size": "48MB"}})
	if err != nil {
		return nil, "", err
	}
	c = &cluster{primary: server, done: []*pgtest.Server{server}, scene: &scene{dir: dir}}
	var data string
	if err = c.execute(ctx, "SHOW data_directory", &data); err == nil {
		disk = filepath.Join(filepath.Dir(data), "small")
		err = os.Mkdir(disk, 0o700)
	}
	if err == nil {
		err = mount(disk, size)
	}
	if err == nil {
		err = own(disk, data)
	}
	if err != nil {
		unmount(disk)
		c.close()
	}
	return c, disk, err
}

// moveLog moves the write-ahead log to disk while the server is down.
func (c *cluster) moveLog(ctx context.Context, disk string) error {
	var data string
	if err := c.execute(ctx, "SHOW data_directory", &data); err != nil {
		return err
	}
	c.primary.Kill()
	log := filepath.Join(data, "pg_wal")
	moved := filepath.Join(disk, "pg_wal")
	err := os.CopyFS(moved, os.DirFS(log))
	if err == nil {
		err = filepath.WalkDir(moved, func(path string, _ os.DirEntry, err error) error {
			return errors.Join(err, own(path, data))
		})
	}
	if err = errors.Join(err, os.Chmod(moved, 0o700), os.RemoveAll(log)); err != nil {
		return err
	}
	return errors.Join(os.Symlink(moved, log), c.primary.Restart(ctx))
}

// crowd is a scene with large payloads. A rejected operation on several keys would leave open
// which of them it reached, and the judge would have to try too many orders.
func crowd(where place.Place, dir string, keys int) *scene {
	c := Config{Place: where, Dir: dir, Callers: 8, Keys: keys, Payload: 4000, Single: true}
	both := c
	both.Works = true
	return &scene{dir: dir, resolve: resolved, reads: where, configs: []Config{both, c}}
}
