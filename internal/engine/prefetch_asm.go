//go:build amd64 || arm64

package engine

import "github.com/hashedwheel/hwt"

// prefetch asks the processor for the memory that task points to. It touches
// nothing itself: an address that is not mapped does no harm, and the race
// detector has nothing to see.
//
//go:noescape
func prefetch(task hwt.TimerTask)
