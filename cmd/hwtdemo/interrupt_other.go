//go:build !unix

package main

import "os"

// fromTerminal are the signals of a terminal.
var fromTerminal = []os.Signal{os.Interrupt}
