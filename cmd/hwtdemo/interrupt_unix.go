//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// fromTerminal are the signals of a terminal: Ctrl-C, and its end.
var fromTerminal = []os.Signal{syscall.SIGINT, syscall.SIGHUP}

// keepBrokenPipes turns a write to a pipe without a reader into an error until restore
// is called. By default, it ends the process.
func keepBrokenPipes() (restore func()) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGPIPE)
	return func() { signal.Stop(ignored) }
}
