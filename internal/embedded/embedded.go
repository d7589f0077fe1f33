// Package embedded connects an hwt.Event with its engine. Its types have parameters
// because package hwt imports it: E stands for hwt.Event, and T for hwt.Timeout.
//
// The engine casts a pointer to an event to a pointer to a type of the engine. Both types
// have the same size, and pointers in the same places.
package embedded

import (
	"time"
	"unsafe"
)

// Home is the first field of the struct to which an event refers.
type Home[E, T any] struct {
	Host Host[E, T] // Immutable.
}

// Host is the engine of an event that its InitEvent has initialized.
type Host[E, T any] interface {
	// Arm implements the method of the event.
	Arm(event *E, delay time.Duration) error

	// Reset implements the method of the event.
	Reset(event *E, delay time.Duration) bool

	// Cancel implements the method of the event.
	Cancel(event *E) bool

	// Timeout returns the engine's timeout that is in the event.
	Timeout(event *E) T
}

// Stamp returns a number that depends on an address, and is not 0. An event keeps the
// stamp of its address. The stamp of a copy is mostly wrong.
func Stamp(p unsafe.Pointer) uint8 {
	const golden = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio
	return max(uint8(uint64(uintptr(p))*golden>>56), 1)
}
