//go:build !unix

package cputime

// Now returns false: what the process has used is not known here.
func Now() (Usage, bool) { return Usage{}, false }
