package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that ends at the first interrupt: Ctrl-C,
// SIGTERM or SIGHUP. A second interrupt calls kill and ends the process at once.
// After release, interrupts have their default effect.
func interruptible(parent context.Context, kill func()) (_ context.Context, release context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	received := make(chan os.Signal, 2)
	signal.Notify(received, interrupts()...)
	released := make(chan struct{})
	go func() {
		defer signal.Stop(received)
		for _, act := range []func(){cancel, func() { kill(); os.Exit(statusInterrupted) }} {
			select {
			case <-received:
				act()
			case <-released:
				return
			}
		}
	}()
	return ctx, func() {
		cancel()
		close(released)
	}
}

// interrupts returns the signals that interrupt. SIGINT and SIGHUP stay ignored
// where the parent process ignores them, as nohup does.
func interrupts() []os.Signal {
	signals := []os.Signal{syscall.SIGTERM}
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signals
}

// keepBrokenPipes makes a write to a pipe without a reader an error instead of
// the end of the process, until restore is called.
func keepBrokenPipes() (restore func()) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGPIPE)
	return func() { signal.Stop(ignored) }
}
