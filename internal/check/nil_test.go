package check_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/check"
)

func TestTypedNilIsNil(t *testing.T) {
	var timer hwt.Timer
	assert.True(t, check.IsNil(timer))
	timer = (*hashedwheel.Timer)(nil)
	assert.True(t, check.IsNil(timer))
	timer = new(hashedwheel.Timer)
	assert.False(t, check.IsNil(timer))
	assert.True(t, check.IsNil(hwt.TaskFunc(nil)))
	assert.True(t, check.IsNil((map[int]int)(nil)))
	assert.True(t, check.IsNil((chan int)(nil)))
	assert.True(t, check.IsNil(([]int)(nil)))
	assert.False(t, check.IsNil(0))
}
