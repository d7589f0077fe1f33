//go:build !unix

package main

import "os"

// fromTerminal are the signals of a terminal.
var fromTerminal = []os.Signal{os.Interrupt}

// keepBrokenPipes does nothing: such a write is always an error here.
func keepBrokenPipes() (restore func()) { return func() {} }
