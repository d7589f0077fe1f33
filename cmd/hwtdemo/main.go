// Command hwtdemo shows what hwt's timers do, on real input: a shop's orders in
// great number, and schedules that the user brings. Try
//
//	go run ./cmd/hwtdemo orders
//	go run ./cmd/hwtdemo run testdata/shop-day.csv
//	go run ./cmd/hwtdemo idle
//	go run ./cmd/hwtdemo --help
//
// Results are written to the standard output, everything else to the standard
// error. The exit status is 0 if all went well, 1 if something failed, 2 if the
// command was used wrongly, and 130 if it was interrupted.
package main

import "os"

func main() {
	os.Exit(execute(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}
