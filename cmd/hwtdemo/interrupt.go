package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that an interrupt ends: Ctrl-C or SIGTERM.
// From then on, or when release is called, another one ends the process at once.
func interruptible(ctx context.Context) (_ context.Context, release context.CancelFunc) {
	ctx, release = signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, release)
	return ctx, release
}

// keepBrokenPipes makes a write to a pipe that nobody reads any more an error
// instead of the end of the process, until the function it returns is called.
func keepBrokenPipes() (restore func()) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGPIPE)
	return func() { signal.Stop(ignored) }
}
