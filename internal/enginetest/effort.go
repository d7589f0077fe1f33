package enginetest

import (
	"os"
	"testing"
)

// Effort returns the amount of work for a test: long if HWT_LONG is set, as the gate does, short
// with -short, and otherwise usual, which keeps go test ./... brief.
func Effort(long, usual, short int) int {
	switch {
	case testing.Short():
		return short
	case os.Getenv("HWT_LONG") != "":
		return long
	}
	return usual
}
