// Package gocronlock keeps the locks of gocron's jobs in a durable store. One of the replicas of a
// service begins each occurrence of a job:
//
//	locker, err := gocronlock.New(store.Store, hostname, 30*time.Second)
//	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
package gocronlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/hashedwheel/hwt/durable"
)

// Locker is a gocron.Locker. A lock lasts for a fixed time from its beginning, even if the run ends
// earlier: replicas that reach the occurrence later, because of their clocks or their load, do not
// run it again. If the replica with the lock dies, the occurrence is not repeated, and the next one
// runs in another replica.
type Locker struct {
	store   *durable.Store
	replica string
	hold    time.Duration
}

// Prefix begins the keys of the locks. The rest of a key is the name of the job.
const Prefix = "gocron/"

// Headers of a lock. Until is in RFC 3339.
const Replica, Until = "replica", "until"

// never is the time until a lock would fire: locks are entries that are only read.
const never = 100 * 365 * 24 * time.Hour

// ErrHeld is returned by Lock if another replica runs the occurrence.
var ErrHeld = errors.New("another replica has the lock")

// New returns a locker. Operators see the name of the replica in `hwtdurable get --json`. The time hold
// must exceed the difference of the replicas' clocks and the lateness of their timers, and be
// shorter than the interval of the job by as much: half of the interval is best. If the replicas'
// DurationJobs begin at different times, hold must be nearly the interval: 0.9 of it.
func New(store *durable.Store, replica string, hold time.Duration) (*Locker, error) {
	if hold <= 0 {
		return nil, fmt.Errorf("gocronlock: New: hold is %v (expected: more than 0)", hold)
	}
	return &Locker{store, replica, hold}, nil
}

// Lock implements gocron.Locker. It returns an error if the database does not answer within the time
// of the lock: another replica may run the occurrence then.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, l.hold)
	defer cancel()
	now := time.Now()
	lock := durable.Entry{Key: Prefix + job, Due: now.Add(never),
		Headers: map[string]string{Replica: l.replica, Until: now.Add(l.hold).Format(time.RFC3339Nano)}}
	last, err := l.store.Get(ctx, lock.Key)
	switch {
	case errors.Is(err, durable.ErrNotFound):
		_, err = l.store.Create(ctx, lock)
	case err == nil:
		if err = ended(last, now); err == nil {
			_, err = l.store.If(last.Generation).Set(ctx, lock)
		}
	}
	if errors.Is(err, durable.ErrExists) || errors.Is(err, durable.ErrConflict) {
		err = ErrHeld
	}
	if err != nil {
		return nil, fmt.Errorf("gocronlock: job %q: %w", job, err)
	}
	return held{}, nil
}

// ended returns nil if a lock has ended.
func ended(lock durable.Entry, now time.Time) error {
	until, err := time.Parse(time.RFC3339Nano, lock.Headers[Until])
	if err == nil && now.Before(until) {
		err = ErrHeld
	}
	return err
}

// held is a lock that ends by itself.
type held struct{}

// Unlock implements gocron.Lock. It does nothing.
func (held) Unlock(context.Context) error { return nil }
