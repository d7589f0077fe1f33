//go:build !unix

package cputime

// Now returns what the process has used so far, and whether that is known: here
// it is not.
func Now() (Usage, bool) { return Usage{}, false }
