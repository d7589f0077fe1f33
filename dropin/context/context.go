// Package context stands in for the standard library's package context: it has the
// same names, and a wheel keeps its deadlines. It costs less than package context
// only where deadlines are mostly not waited for. See package dropin.
package context

import (
	"context"
	"time"

	"github.com/hashedwheel/hwt/dropin/internal/shared"
)

//go:generate go run ../internal/generate context

// WithTimeout is [context.WithTimeout], with the deadline kept by the wheel.
func WithTimeout(parent Context, timeout time.Duration) (Context, CancelFunc) {
	if c := shared.Clock(); c != nil {
		return c.WithTimeout(parent, timeout)
	}
	return context.WithTimeout(parent, timeout)
}

// WithTimeoutCause is [context.WithTimeoutCause], with the deadline kept by the
// wheel.
func WithTimeoutCause(parent Context, timeout time.Duration, cause error) (Context, CancelFunc) {
	if c := shared.Clock(); c != nil {
		return c.WithTimeoutCause(parent, timeout, cause)
	}
	return context.WithTimeoutCause(parent, timeout, cause)
}

// WithDeadline is [context.WithDeadline], with the deadline kept by the wheel.
func WithDeadline(parent Context, d time.Time) (Context, CancelFunc) {
	if c := shared.Clock(); c != nil {
		return c.WithDeadline(parent, d)
	}
	return context.WithDeadline(parent, d)
}

// WithDeadlineCause is [context.WithDeadlineCause], with the deadline kept by the
// wheel.
func WithDeadlineCause(parent Context, d time.Time, cause error) (Context, CancelFunc) {
	if c := shared.Clock(); c != nil {
		return c.WithDeadlineCause(parent, d, cause)
	}
	return context.WithDeadlineCause(parent, d, cause)
}
