package hierarchical

import (
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// These tests check the costs that the package documentation states.

func TestBucketSize(t *testing.T) {
	if strconv.IntSize == 64 {
		assert.EqualValues(t, 40, unsafe.Sizeof(bucket{}), "48 bytes, including its head and count")
	}
}

func TestAllocationsOfATimeout(t *testing.T) {
	timer, err := New(nil)
	require.NoError(t, err)
	defer timer.Stop()
	nop := hwt.TaskFunc(func(hwt.Timeout) error { return nil })
	var timeout hwt.Timeout
	assert.LessOrEqual(t, testing.AllocsPerRun(1000, func() {
		timeout, _ = timer.NewTimeout(nop, time.Hour)
	}), 1.0, "NewTimeout, including the worker's share")
	assert.Zero(t, testing.AllocsPerRun(1000, func() { timeout.Reset(2 * time.Hour) }), "Reset")
	assert.Zero(t, testing.AllocsPerRun(1000, func() { timeout.Cancel() }), "Cancel")
}
