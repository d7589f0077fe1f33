package cputime_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/cputime"
)

// This needs the real clock: it is the processor that is measured.
func TestBusyLoopUsesProcessorTime(t *testing.T) {
	before, known := cputime.Now()
	if !known {
		t.Skip("not known on this system")
	}
	for began := time.Now(); time.Since(began) < 50*time.Millisecond; {
	}
	after, _ := cputime.Now()
	assert.Positive(t, after.Sub(before).Total())
}
