package context

// This file has the names of package context that need no timer.

import "context"

// Context is [context.Context].
type Context = context.Context

// CancelFunc is [context.CancelFunc].
type CancelFunc = context.CancelFunc

// CancelCauseFunc is [context.CancelCauseFunc].
type CancelCauseFunc = context.CancelCauseFunc

// As in package context.
var (
	Canceled         = context.Canceled
	DeadlineExceeded = context.DeadlineExceeded
)

// Background calls [context.Background].
func Background() Context { return context.Background() }

// TODO calls [context.TODO].
func TODO() Context { return context.TODO() }

// WithCancel calls [context.WithCancel].
func WithCancel(parent Context) (ctx Context, cancel CancelFunc) { return context.WithCancel(parent) }

// WithCancelCause calls [context.WithCancelCause].
func WithCancelCause(parent Context) (ctx Context, cancel CancelCauseFunc) {
	return context.WithCancelCause(parent)
}

// Cause calls [context.Cause].
func Cause(c Context) error { return context.Cause(c) }

// AfterFunc calls [context.AfterFunc].
func AfterFunc(ctx Context, f func()) (stop func() bool) { return context.AfterFunc(ctx, f) }

// WithoutCancel calls [context.WithoutCancel].
func WithoutCancel(parent Context) Context { return context.WithoutCancel(parent) }

// WithValue calls [context.WithValue].
func WithValue(parent Context, key, val any) Context { return context.WithValue(parent, key, val) }
