//go:build unix

package main

import (
	"os"
	"syscall"
)

// fromTerminal are the signals of a terminal: Ctrl-C, and its end.
var fromTerminal = []os.Signal{syscall.SIGINT, syscall.SIGHUP}
