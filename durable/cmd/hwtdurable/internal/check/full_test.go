package check

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
)

var length = flag.Duration("for", 3*time.Second, "length of each run of TestFullStores")

// TestFullStores runs stores near their own limit, and on a small file system that another
// program fills. No call that was rejected has an effect.
func TestFullStores(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 seconds")
	}
	for name, fill := range map[string]func(context.Context, string, time.Duration) (Report, error){
		"limit": fillStore, "file system": fillDisk,
	} {
		t.Run(name, func(t *testing.T) {
			r, err := fill(t.Context(), t.TempDir(), *length)
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			require.NoError(t, err)
			require.Empty(t, r.Violations)
			require.Zero(t, r.Undecided)
			require.NotZero(t, r.Rejected)
			t.Logf("%d operations, %d rejected, %d firings, %v", r.Operations, r.Rejected, r.Firings, r.Faults)
		})
	}
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
