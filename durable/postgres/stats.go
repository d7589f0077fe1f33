package postgres

import (
	"context"
	"fmt"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Stats implements [backend.Backend]. Pending counts up to CountLimit and is the
// planner's estimate above. All counts take time proportional to their results.
func (b *postgresBackend) Stats(ctx context.Context, due []int64) (backend.Stats, error) {
	var st backend.Stats
	var usage float64
	err := b.insist(ctx, func(ctx context.Context) error {
		st = backend.Stats{Limit: b.options.MaxBytes}
		stmts := []stmt{
			query(nil, visibleSQL),
			query(into(&st.Pending, &st.Claimed, &st.Dead, &st.Oldest), countsSQL, int64(backend.CountLimit)),
			query(into(&st.Bytes), sizeSQL, b.options.Schema),
			query(into(&usage), `SELECT pg_notification_queue_usage()`),
		}
		for _, d := range due {
			stmts = append(stmts, query(each(&st.Due), countDueSQL, d, int64(backend.CountLimit)))
		}
		return b.simple(ctx, stmts...)
	})
	st.More = map[string]float64{"notification_queue_usage": usage}
	if err == nil {
		b.bytes.Store(st.Bytes)
	}
	return st, err
}

// full returns ErrFull for an operation that adds a row to a full store.
func (b *postgresBackend) full(op *backend.Op) error {
	adds := op.Kind == backend.Set || op.Kind == backend.Create
	if bytes := b.bytes.Load(); adds && b.options.MaxBytes > 0 && bytes > b.options.MaxBytes {
		return fmt.Errorf("%w: %d bytes (limit: %d)", backend.ErrFull, bytes, b.options.MaxBytes)
	}
	return nil
}

// measure keeps the size up to date for full.
func (b *postgresBackend) measure() {
	for b.ctx.Err() == nil {
		var bytes int64
		err := b.simple(b.ctx, query(into(&bytes), sizeSQL, b.options.Schema))
		if err == nil {
			b.bytes.Store(bytes)
		}
		b.sleep(b.ctx, sizeEvery)
	}
}
