//go:build !amd64 && !arm64

package prefetch

import "unsafe"

// Line does nothing: see the package.
func Line(unsafe.Pointer) {}

// Lines does nothing: see the package.
func Lines(unsafe.Pointer) {}
