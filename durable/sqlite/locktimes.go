package sqlite

import (
	"sync"
	"time"
)

// lockTimes are the times for which other processes held the lock of the file. No worker could
// renew its lease then, or store an outcome: leases last longer by them. Otherwise, the first worker to get
// the lock afterwards would adopt, and fire again, entries that others have fired.
type lockTimes struct {
	mu    sync.Mutex
	spans []span        // Guarded by mu.
	lease time.Duration // the longest lease of this store's workers. Guarded by mu.
}

// span is a time in nanoseconds of the Unix epoch.
type span struct{ from, to int64 }

// leastSpan is the least time that counts: a shorter one keeps nobody from renewing a lease.
const leastSpan = 50 * time.Millisecond

// add notes that another process held the lock.
func (l *lockTimes) add(from, to time.Time) {
	if to.Sub(from) < leastSpan {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	old := to.Add(-4 * l.lease).UnixNano()
	kept := l.spans[:0]
	for _, s := range l.spans {
		if s.to > old {
			kept = append(kept, s)
		}
	}
	l.spans = append(kept, span{from.UnixNano(), to.UnixNano()})
}

// use notes the length of a lease.
func (l *lockTimes) use(lease time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lease = max(l.lease, lease)
}

// since returns the time for which others held the lock since the last renewal of a lease that expires
// then.
func (l *lockTimes) since(expires int64) (held int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	renewed := expires - int64(l.lease)
	for _, s := range l.spans {
		held += max(0, s.to-max(s.from, renewed))
	}
	return held
}

// ended reports whether a worker has lost its lease: the time at which the lease expires has passed, and so have the
// times for which others held the lock. A worker that has left expires at 0.
func (l *lockTimes) ended(expires, now int64) bool {
	return expires == 0 || expires <= now && expires+l.since(expires) <= now
}
