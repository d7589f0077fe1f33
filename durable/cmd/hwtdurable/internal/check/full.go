package check

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
)

// full runs stores near their own limit, and stores on a small file system that another
// program fills, in turn.
func full(ctx context.Context, dir string, d time.Duration) (Report, error) {
	var report Report
	for begun, turn := time.Now(), 0; turn < 2 || time.Since(begun) < d && ctx.Err() == nil; turn++ {
		name, fill := "stores at their own limit", fillStore
		if turn%2 == 1 {
			name, fill = "file systems filled by another program", fillDisk
		}
		sub := filepath.Join(dir, fmt.Sprint(turn))
		if err := os.Mkdir(sub, 0o700); err != nil {
			return report, err
		}
		r, err := fill(ctx, sub, max(3*time.Second, d/6))
		if errors.Is(err, errors.ErrUnsupported) {
			report.skip(name, err)
			continue
		}
		if err == nil && r.Rejected == 0 {
			err = fmt.Errorf("%s: no operation was rejected", name)
		}
		report.add(r)
		if err != nil || len(r.Violations) > 0 {
			return report, err
		}
		report.count(name)
	}
	return report, nil
}

// fillStore keeps more data than fits. Operations that add nothing always have room.
func fillStore(ctx context.Context, dir string, d time.Duration) (Report, error) {
	where := place.Place{File: filepath.Join(dir, "store.db"), MaxBytes: 1_000_000, Lease: lease}
	s := crowd(where, dir, 400)
	return s.play(ctx, d, Judge{Tolerance: time.Millisecond, Room: true}, []fault{
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
	return s.play(ctx, d, Judge{Tolerance: time.Millisecond}, []fault{func(ctx context.Context) error {
		begin := now()
		other, err := os.Create(filepath.Join(disk, "other"))
		if err != nil {
			return err
		}
		defer other.Close()
		for err == nil {
			_, err = other.Write(make([]byte, 4096))
		}
		sleep(ctx, time.Second+rand.N(2*time.Second))
		if err := os.Remove(other.Name()); err != nil {
			return err
		}
		if err := other.Close(); err != nil {
			return err
		}
		sleep(ctx, 2*lease) // until workers have a lease again
		s.note("times without space", begin)
		return nil
	}})
}

// crowd is a scene with large payloads.
func crowd(where place.Place, dir string, keys int) *scene {
	c := Config{Place: where, Dir: dir, Callers: 8, Keys: keys, Life: 5, Payload: 4000, Timeout: 20 * time.Second}
	both := c
	both.Works = true
	return &scene{dir: dir, resolve: resolved, reads: where, configs: []Config{both, c}}
}
