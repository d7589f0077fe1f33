//go:build amd64 || arm64

package prefetch

import "unsafe"

// Line prefetches the cache line at p. It reads and writes nothing: p may be nil
// or unmapped, and the race detector sees no access.
//
//go:noescape
func Line(p unsafe.Pointer)

// Lines prefetches the 128 bytes from p on. It has the properties of [Line].
//
//go:noescape
func Lines(p unsafe.Pointer)
