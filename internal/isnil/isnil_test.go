package isnil_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/isnil"
)

func TestNilIsFoundInAnInterface(t *testing.T) {
	var timer hwt.Timer
	assert.True(t, isnil.Of(timer))
	timer = (*hashedwheel.Timer)(nil)
	assert.True(t, isnil.Of(timer))
	timer = new(hashedwheel.Timer)
	assert.False(t, isnil.Of(timer))
	assert.True(t, isnil.Of(hwt.TaskFunc(nil)))
	assert.True(t, isnil.Of((map[int]int)(nil)))
	assert.True(t, isnil.Of((chan int)(nil)))
	assert.True(t, isnil.Of(([]int)(nil)))
	assert.False(t, isnil.Of(0))
}
