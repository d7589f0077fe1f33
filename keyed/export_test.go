package keyed

import "unsafe"

// Constants that tests need.
const (
	DefaultDrainWorkers = defaultDrainWorkers
	RetryDelay          = retryDelay
)

// PairSize is the size in bytes of a pair with an int64 key and a pointer.
const PairSize = unsafe.Sizeof(pair[int64, *int]{})
