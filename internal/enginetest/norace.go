//go:build !race

package enginetest

// RaceDetector reports whether the race detector watches.
const RaceDetector = false
