package durable

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// sharer looks for new limits, and shares permits with other workers, every backend.ShareEvery. Without limits, it
// costs one cheap look.
type sharer struct {
	common
	limiter *limiter
	look    atomic.Bool   // limits may have changed
	seen    atomic.Uint64 // term of the lease during which the limits were read. Written by run.

	version        backend.Version // of the limits. Of run.
	looked, shared time.Time       // the last look and call of Share. Of run.
	pause          time.Duration   // until the next call of Share, if it is not ShareEvery. Of run.
	term           uint64          // of the last call. Of run.
	aware          int64           // newest version that the database knows that the worker knows in the term. Of run.
}

// knows reports whether the limits were read during a term of the lease: before, Store.Limit did not wait for this
// worker.
func (s *sharer) knows(term uint64) bool {
	known := s.seen.Load() >= term
	if !known {
		s.lookNow()
	}
	return known
}

// lookNow makes the sharer look for new limits.
func (s *sharer) lookNow() {
	s.look.Store(true)
	request(s.limiter.wake)
}

// run looks for limits and shares permits until ctx ends.
func (s *sharer) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.limiter.wake:
		}
		timer.Reset(s.step(ctx))
	}
}

const (
	shareSoon  = 50 * time.Millisecond  // least pause between two calls of Share
	shareAgain = 100 * time.Millisecond // pause after a call that left the worker with fewer permits than its share
)

// step does the work that is due, and returns the time until the next.
func (s *sharer) step(ctx context.Context) time.Duration {
	if s.look.Swap(false) || time.Since(s.looked) >= backend.ShareEvery {
		s.looked = time.Now()
		s.refresh(ctx)
	}
	until, urgent, some := s.limiter.advance()
	pause := cmp.Or(s.pause, backend.ShareEvery)
	if urgent || s.version.Newest != s.aware {
		pause = shareSoon
	}
	shares := some || pause == shareSoon
	if shares && time.Since(s.shared) >= pause {
		s.shared, pause = time.Now(), cmp.Or(s.pause, backend.ShareEvery)
		s.share(ctx)
		until, _, _ = s.limiter.advance()
	}
	until = min(until, time.Until(s.looked.Add(backend.ShareEvery)))
	if shares {
		until = min(until, time.Until(s.shared.Add(pause)))
	}
	return max(time.Millisecond, until)
}

// refresh reads the limits if they have changed.
func (s *sharer) refresh(ctx context.Context) {
	_, term, _ := s.lease.current()
	ctx, cancel := context.WithTimeout(ctx, maxPause)
	defer cancel()
	all, err := s.backend.Limited(ctx, s.version)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
		s.trouble("durable: cannot read the limits", err)
	}
	if err != nil && !errors.Is(err, ErrDamaged) {
		return
	}
	if all.Version != s.version {
		s.version = all.Version
		s.limiter.load(all.Limits)
	}
	if s.seen.Swap(term) != term {
		s.sweep.wantNow()
	}
}

// share calls Share.
func (s *sharer) share(ctx context.Context) {
	id, term, valid := s.lease.current()
	if !valid {
		return
	}
	if s.term != term {
		s.term, s.aware = term, 0
	}
	newest, demands := s.version.Newest, s.limiter.demands(term)
	if len(demands) == 0 && newest == s.aware {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxPause)
	defer cancel()
	grants, err := s.backend.Share(ctx, id, newest, demands)
	switch {
	case errors.Is(err, ErrLeaseLost):
		s.lease.lost(id)
	case err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed):
		s.trouble("durable: cannot share the limits; retrying", err)
	case err == nil && s.lease.holds(term):
		s.aware = newest
		if s.pause = min(max(2*s.pause, shareAgain), backend.ShareEvery); !s.limiter.granted(grants) {
			s.pause = 0
		}
	}
}
