package clock

import (
	"context"
	"time"

	"github.com/hashedwheel/hwt/internal/check"
)

// RunWithTimeout calls f with a context derived from ctx that ends after d, or up to one
// tick later, and returns the error of f. RunWithTimeout waits for f even after the context
// has ended. When RunWithTimeout returns, the context is cancelled. A panic in f reaches
// the caller.
//
// RunWithTimeout returns an error if ctx or f is nil. It costs as much as
// [Clock.WithTimeout].
func (c *Clock) RunWithTimeout(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	if ctx == nil {
		return check.Errorf("clock: RunWithTimeout: ctx is nil (expected: a context)")
	}
	if f == nil {
		return check.Errorf("clock: RunWithTimeout: f is nil (expected: a function)")
	}
	ctx, cancel := c.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}
