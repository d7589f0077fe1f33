package postgres

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// sizes counts rows, and measures the disk space.
type sizes struct {
	*session
	bytes atomic.Int64 // when last measured. Atomic: written by measure and Stats, read by callers.
}

// Stats implements [backend.Backend]. Pending counts up to CountLimit and is the
// planner's estimate above. All counts take time proportional to their results.
func (s *sizes) Stats(ctx context.Context, due []int64) (backend.Stats, error) {
	var st backend.Stats
	var usage float64
	err := s.insist(ctx, func(ctx context.Context) error {
		st = backend.Stats{Limit: s.options.MaxBytes}
		stmts := []stmt{
			query(into(&st.Pending, &st.Claimed, &st.Dead, &st.Oldest), countsSQL, int64(backend.CountLimit)),
			query(into(&st.Pauses), countPausesSQL),
			query(into(&st.Bytes), sizeSQL, s.options.Schema),
			query(into(&usage), `SELECT pg_notification_queue_usage()`),
		}
		for _, d := range due {
			stmts = append(stmts, query(each(&st.Due), countDueSQL, d, int64(backend.CountLimit)))
		}
		return s.simple(ctx, stmts...)
	})
	st.More = map[string]float64{"notification_queue_usage": usage}
	if err == nil {
		s.bytes.Store(st.Bytes)
	}
	return st, err
}

// full returns ErrFull for an operation that adds a row to a full store.
func (s *sizes) full(op *backend.Op) error {
	adds := op.Kind == backend.Set || op.Kind == backend.Create
	if bytes := s.bytes.Load(); adds && s.options.MaxBytes > 0 && bytes > s.options.MaxBytes {
		return fmt.Errorf("%w: %d bytes (limit: %d)", backend.ErrFull, bytes, s.options.MaxBytes)
	}
	return nil
}

// sizeEvery is the pause between two measurements.
const sizeEvery = 2 * time.Second

// measure keeps the size up to date for full.
func (s *sizes) measure() {
	for s.ctx.Err() == nil {
		var bytes int64
		err := s.simple(s.ctx, query(into(&bytes), sizeSQL, s.options.Schema))
		if err == nil {
			s.bytes.Store(bytes)
		}
		s.sleep(s.ctx, sizeEvery)
	}
}
