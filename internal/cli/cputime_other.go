//go:build !unix

package cli

// CPUNow returns false, because this system does not report processor time.
func CPUNow() (CPU, bool) { return CPU{}, false }
