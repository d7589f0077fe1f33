//go:build !unix

package proc

// Now panics: it is not implemented on this system.
func Now() Usage { panic("the comparison needs a Unix system") }
