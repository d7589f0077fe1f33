package postgres

import (
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// budget bounds the payloads of one round trip, so that it ends within Options.Timeout.
type budget struct {
	limit atomic.Int64 // 1 to backend.BatchBytes. Atomic: written by the callers of adapt.
}

func (b *budget) bytes() int64 { return b.limit.Load() }

// adapt halves the budget after a round trip that took longer than limit, and doubles it after a
// much shorter one.
func (b *budget) adapt(err error, took, limit time.Duration) {
	switch {
	case slow(err):
		b.limit.Store(max(b.bytes()/2, 1))
	case err == nil && took < limit/8 && b.bytes() < backend.BatchBytes:
		b.limit.Store(min(2*b.bytes(), backend.BatchBytes))
	}
}
