//go:build race

package leak_test

const raceEnabled = true
