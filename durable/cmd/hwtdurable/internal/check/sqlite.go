package check

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
)

// lease is short, so that it ends in the pauses of short runs.
const lease = 2 * time.Second

func resolved(context.Context, int) error { return nil }

// rows kills a process that performs operations on entries due in a day, and compares
// every row with the answers, again and again.
func rows(ctx context.Context, dir string, d time.Duration) (Report, error) {
	where := place.Place{File: filepath.Join(dir, "store.db")}
	s := &scene{dir: dir, resolve: resolved, reads: where, configs: []Config{
		{Place: where, Dir: dir, Callers: 64, Keys: 512, Far: true, Timeout: time.Minute},
	}}
	defer s.end()
	if err := s.startAll(); err != nil {
		return Report{}, err
	}
	for begun := time.Now(); time.Since(begun) < d && ctx.Err() == nil; {
		sleep(ctx, 300*time.Millisecond+rand.N(700*time.Millisecond))
		p := s.process(0)
		begin := now()
		p.Kill()
		s.note("SIGKILL under 64 callers, every row compared", begin)
		if err := s.over(ctx, p); err != nil {
			return Report{}, err
		}
		if err := s.read(ctx); err != nil {
			return Report{}, err
		}
		if err := s.start(0); err != nil {
			return Report{}, err
		}
	}
	s.process(0).Kill()
	return s.report(Judge{})
}

// sqliteFaults kills and stops processes that share a file.
func sqliteFaults(ctx context.Context, dir string, d time.Duration) (Report, error) {
	where := place.Place{File: filepath.Join(dir, "store.db"), Lease: lease}
	s := &scene{dir: dir, resolve: resolved, reads: where, configs: []Config{
		{Place: where, Dir: dir, Callers: 8, Keys: 100, Life: 5, Timeout: 20 * time.Second, Works: true},
		{Place: where, Dir: dir, Callers: 4, Keys: 100, Life: 5, Timeout: 20 * time.Second},
		{Place: where, Dir: dir, Works: true},
	}}
	return s.play(ctx, d, Judge{Tolerance: time.Millisecond}, s.processFaults())
}

// processFaults kills and stops each process.
func (s *scene) processFaults() (faults []fault) {
	for i := range s.configs {
		faults = append(faults,
			func(ctx context.Context) error { return s.kill(ctx, i) },
			func(ctx context.Context) error { return s.stop(ctx, i) })
	}
	return faults
}
