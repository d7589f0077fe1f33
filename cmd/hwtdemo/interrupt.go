package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that ends at the first interrupt: Ctrl-C, SIGTERM or
// SIGHUP. A second interrupt ends the process. After release, interrupts have their
// default effect.
func interruptible(parent context.Context) (_ context.Context, release context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	received := make(chan os.Signal, 2)
	signal.Notify(received, interrupts()...)
	released := make(chan struct{})
	go func() {
		defer signal.Stop(received)
		for _, act := range []func(){cancel, func() { os.Exit(statusInterrupted) }} {
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

// interrupts returns the signals that interrupt. Signals that the parent process
// ignores, as nohup does with SIGHUP, stay ignored.
func interrupts() []os.Signal {
	signals := []os.Signal{syscall.SIGTERM}
	for _, s := range fromTerminal {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signals
}
