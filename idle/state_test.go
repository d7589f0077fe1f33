package idle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/idle"
)

// TestTouchAndEndRace plays the race of a touch and an end, with either first.
func TestTouchAndEndRace(t *testing.T) {
	s := idle.StateAt(5)
	s.TouchAt(7)
	assert.False(t, s.EndIdle(5), "the touch was first")
	last, _, ended := s.Get()
	assert.EqualValues(t, 7, last)
	assert.False(t, ended)

	assert.True(t, s.EndIdle(7))
	s.TouchAt(9)
	last, idle, ended := s.Get()
	assert.EqualValues(t, 7, last, "the end was first")
	assert.True(t, idle)
	assert.True(t, ended)
	assert.False(t, s.EndStopped(), "it ends once")
	assert.False(t, s.EndIdle(7))
}

func TestTouchNeverMovesTheLatestActivityBack(t *testing.T) {
	s := idle.StateAt(5)
	s.TouchAt(3)
	last, _, _ := s.Get()
	assert.EqualValues(t, 5, last)
	assert.True(t, s.EndStopped())
	_, idle, ended := s.Get()
	assert.False(t, idle)
	assert.True(t, ended)
}
