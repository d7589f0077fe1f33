// Package context replaces the standard library's package context. It has the same
// names, and its deadlines are on a wheel. It costs less than package context only
// where most deadlines are never waited for. See package dropin.
package context

import (
	"context"
	"time"

	"github.com/hashedwheel/hwt/dropin/internal/shared"
)

// WithTimeout is [context.WithTimeout] on the wheel.
func WithTimeout(parent Context, timeout time.Duration) (Context, CancelFunc) {
	if c := shared.Clock(); c != nil {
		return c.WithTimeout(parent, timeout)
	}
	return context.WithTimeout(parent, timeout)
}

// WithTimeoutCause is [context.WithTimeoutCause] on the wheel.
func WithTimeoutCause(parent Context, timeout time.Duration, cause error) (Context, CancelFunc) {
	if c := shared.Clock(); c != nil {
		return c.WithTimeoutCause(parent, timeout, cause)
	}
	return context.WithTimeoutCause(parent, timeout, cause)
}

// WithDeadline is [context.WithDeadline] on the wheel.
func WithDeadline(parent Context, d time.Time) (Context, CancelFunc) {
	if c := shared.Clock(); c != nil {
		return c.WithDeadline(parent, d)
	}
	return context.WithDeadline(parent, d)
}

// WithDeadlineCause is [context.WithDeadlineCause] on the wheel.
func WithDeadlineCause(parent Context, d time.Time, cause error) (Context, CancelFunc) {
	if c := shared.Clock(); c != nil {
		return c.WithDeadlineCause(parent, d, cause)
	}
	return context.WithDeadlineCause(parent, d, cause)
}
