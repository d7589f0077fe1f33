package durable

import (
	"context"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// strayEvery is the pause between two looks of a store for strays, and the age from which on a due row is one.
const strayEvery = time.Minute

// maxStrays is the number of kinds, and of names of schedules, that one look reports.
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
		if !s.works.look(time.Now(), strayEvery) {
			continue
		}
		kinds, schedules := s.works.handled()
		now := s.clock.nanos()
		for range maxStrays {
			row, err := s.backend.Stray(ctx, kinds, schedules, now-int64(strayEvery))
			if err != nil { // there are no more, or it is an error that the Works meet, too
				break
			}
			cause, kind := "kind", backend.KindOf(row.Key)
			name := Entry{Key: row.Key}.Kind()
			if known := (&backend.Row{Key: row.Key}).Handled(kinds, nil); known {
				cause, name = "schedule", row.Schedule
				schedules = append(schedules, name)
			} else {
				kinds = append(kinds, kind)
			}
			s.options.Logger.Warn("durable: due entries wait: no Work of this store handles their "+cause+", maybe one of another process does",
				cause, name, "key", row.Key, "overdue", time.Duration(now-row.Due).Round(time.Second))
		}
	}
}
