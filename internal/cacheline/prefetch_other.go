//go:build !amd64 && !arm64

package cacheline

import "unsafe"

// Prefetch does nothing on this architecture.
func Prefetch(unsafe.Pointer) {}

// PrefetchPair does nothing on this architecture.
func PrefetchPair(unsafe.Pointer) {}
