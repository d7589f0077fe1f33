package keyed

import "unsafe"

// Constants that tests need.
const (
	DefaultDrainWorkers = defaultDrainWorkers
	RetryDelay          = retryDelay
)

// PairSize is the size in bytes of a pair with an int64 key and a pointer, and NamedSize
// that of one with a string key and no value.
const (
	PairSize  = unsafe.Sizeof(pair[int64, *int]{})
	NamedSize = unsafe.Sizeof(pair[string, struct{}]{})
)
