//go:build !unix

package proc

// Now panics: on this system nothing is counted yet.
func Now() Usage { panic("the comparison needs a Unix system") }
