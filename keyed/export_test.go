package keyed

import "unsafe"

// What a pending pair of an int64 key and a pointer is made of, in bytes, beside
// the map's own key and buckets.
const (
	PairSize    = unsafe.Sizeof(pair[*int]{})
	TriggerSize = unsafe.Sizeof(trigger[int64, *int]{})
)
