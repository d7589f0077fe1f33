// Command hwtdemo shows what the timers of hwt do: a shop with a million orders,
// schedules of the user's own, a server that closes idle connections, a lost timer
// that is found, and a test under load. Try
//
//	go run ./cmd/hwtdemo orders
//	go run ./cmd/hwtdemo run --example
//	go run ./cmd/hwtdemo --help
//
// Results go to the standard output, everything else to the standard error. The
// exit status is 0 for success, 1 for a failure, 2 for wrong usage, and 130 after
// an interrupt.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
