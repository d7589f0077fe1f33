//go:build amd64 || arm64

package prefetch

import "unsafe"

// Line asks for the cache line at p. It touches nothing itself: an address that
// is not mapped does no harm, and the race detector has nothing to see.
//
//go:noescape
func Line(p unsafe.Pointer)

// Lines asks for the 128 bytes from p.
//
//go:noescape
func Lines(p unsafe.Pointer)
