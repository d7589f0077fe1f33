package cli_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/cli"
)

// This needs the real clock, because it measures the processor.
func TestBusyLoopUsesProcessorTime(t *testing.T) {
	before, known := cli.CPUTime()
	if !known {
		t.Skip("not known on this system")
	}
	used := time.Duration(0)
	for began := time.Now(); used == 0 && time.Since(began) < time.Minute; { // some systems count coarsely
		after, _ := cli.CPUTime()
		used = after - before
	}
	assert.Positive(t, used)
}
