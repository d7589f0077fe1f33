package clock

import (
	"context"
	"errors"
	"time"
)

// RunWithTimeout calls f with a context that ends like ctx, or when d has passed or up
// to one tick later. It returns the error of f when f returns, even if that is later.
// Then the context has ended and its timeout is released. A panic in f reaches the
// caller.
//
// RunWithTimeout returns an error if ctx or f is nil. It costs as much as
// [Clock.WithTimeout].
func (c *Clock) RunWithTimeout(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	if ctx == nil {
		return errors.New("clock: RunWithTimeout: ctx is nil (expected: a context)")
	}
	if f == nil {
		return errors.New("clock: RunWithTimeout: f is nil (expected: a function)")
	}
	ctx, cancel := c.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}
