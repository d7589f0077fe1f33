package keyed

import "unsafe"

// Constants that tests need.
const (
	DefaultDrainWorkers = defaultDrainWorkers
	RetryDelay          = retryDelay
)

// The sizes in bytes of the parts of a pending pair with an int64 key and a
// pointer, without the map's own key and buckets.
const (
	PairSize  = unsafe.Sizeof(pair[int64, *int]{})
	AlarmSize = unsafe.Sizeof(alarm[int64, *int]{})
)
