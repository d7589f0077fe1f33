package check

import (
	"context"
	"path/filepath"
	"time"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
)

// lease is short, so that it ends in the pauses of short runs.
const lease = 2 * time.Second

func resolved(context.Context, int) error { return nil }

// sqliteFaults kills and stops processes that share a file.
func sqliteFaults(ctx context.Context, dir string, d time.Duration) (Report, error) {
	s := sqliteScene(dir, true)
	return s.play(ctx, d, sqliteJudge, append(s.processFaults(), s.restart, s.pause, s.limit, s.fair, s.serial, s.poison, s.abandon, s.loseLog, s.holdLock, s.otherLibrary))
}

var sqliteJudge = Judge{Tolerance: time.Millisecond}

func sqliteScene(dir string, kinds bool) *scene {
	where := place.Place{File: filepath.Join(dir, "store.db"), Lease: lease}
	return &scene{dir: dir, resolve: resolved, reads: where, configs: []Config{
		{Place: where, Dir: dir, Callers: 8, Keys: 300, Works: true, Kinds: kinds},
		{Place: where, Dir: dir, Callers: 4, Keys: 300, Kinds: kinds},
		{Place: where, Dir: dir, Works: true, Kinds: kinds},
	}}
}

// processFaults kills, stops, and deploys each process.
func (s *scene) processFaults() (faults []fault) {
	for i := range s.configs {
		faults = append(faults,
			func(ctx context.Context) error { return s.kill(ctx, i) },
			func(ctx context.Context) error { return s.stop(ctx, i) },
			func(ctx context.Context) error { return s.deploy(ctx, i) })
	}
	return faults
}
