//go:build !race

package timertest

const raceDetector = false
