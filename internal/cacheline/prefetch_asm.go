//go:build amd64 || arm64

package cacheline

import "unsafe"

// Prefetch asks the processor to load the cache line at p. It pays off if the line
// is needed a few hundred nanoseconds later and was last used long ago. p may be nil
// or unmapped, and the race detector sees no access.
//
//go:noescape
func Prefetch(p unsafe.Pointer)

// PrefetchPair is [Prefetch] for the 128 bytes from p on.
//
//go:noescape
func PrefetchPair(p unsafe.Pointer)
