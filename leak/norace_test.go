//go:build !race

package leak_test

const raceEnabled = false
