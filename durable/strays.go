package durable

import (
	"context"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// strayEvery is the pause between two looks of a store for strays, and the age from which on a due row is one.
const strayEvery = time.Minute

// maxStrays is the number of kinds, and of kinds with a schedule, that one look reports.
const maxStrays = 10

// reportStrays logs due entries that no Work of s handles, once per minute until ctx ends, however many Works there
// are. Each Work leaves entries of other kinds, and entries of a schedule that it does not know, in the database, where
// they would wait unnoticed. A look sees no stray behind LookLimit older due rows, and no Works of other processes.
func (s *Store) reportStrays(ctx context.Context) {
	look := time.NewTicker(strayEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		if s.works.look(time.Now(), strayEvery) {
			now := s.clock.nanos()
			rows, _ := s.backend.Overdue(ctx, now-int64(strayEvery)) // an error is one that the Works meet, too
			s.logStrays(rows, now)
		}
	}
}

// logStrays logs the first strays among rows: one entry of each kind that no Work handles, and one entry per other
// kind and unknown schedule.
func (s *Store) logStrays(rows []backend.Row, now int64) {
	slices.SortFunc(rows, func(a, b backend.Row) int { return a.Cursor().Compare(b.Cursor()) })
	logged := make(map[string]bool) // kinds that no Work handles
	n := 0
	for i := 0; i < len(rows) && n < maxStrays; i++ {
		row := &rows[i]
		kind, schedule := s.works.handle(row)
		if schedule || logged[backend.KindOf(row.Key)] {
			continue
		}
		cause, names := "kind and schedule", []any{"kind", Entry{Key: row.Key}.Kind(), "schedule", row.Schedule}
		if !kind {
			cause, names, logged[backend.KindOf(row.Key)] = "kind", names[:2], true
		}
		n++
		s.options.Logger.Warn("durable: due entries wait: no Work of this store handles their "+cause+", maybe one of another process does",
			append(names, "key", row.Key, "overdue", time.Duration(now-row.Due).Round(time.Second))...)
	}
}
