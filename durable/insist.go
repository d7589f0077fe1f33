package durable

import (
	"context"
	"errors"
	"time"
)

// insist calls try until it returns another error than errUnavailable, or ctx
// ends. The pauses grow to a fifth of a second: a cluster takes seconds to elect
// a leader.
func (s *Store) insist(ctx context.Context, try func() error) error {
	pause := 5 * time.Millisecond
	for {
		err := try()
		if !errors.Is(err, errUnavailable) {
			return err
		}
		if err := s.sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, 200*time.Millisecond)
	}
}

// sleep waits for d, or until ctx or the store ends.
func (s *Store) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ctx.Done():
		return ErrClosed
	}
}
