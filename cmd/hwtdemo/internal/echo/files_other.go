//go:build !unix

package echo

// openFiles returns false: this system has no such limit, or does not tell.
func openFiles() (limit uint64, known bool) { return 0, false }
