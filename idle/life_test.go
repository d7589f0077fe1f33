package idle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/idle"
)

// TestWhicheverComesFirst plays the race of a touch against an end, either way.
func TestWhicheverComesFirst(t *testing.T) {
	l := idle.LifeAt(5)
	l.TouchAt(7)
	assert.False(t, l.EndIdle(5), "the touch came first")
	last, _, ended := l.State()
	assert.EqualValues(t, 7, last)
	assert.False(t, ended)

	assert.True(t, l.EndIdle(7))
	l.TouchAt(9)
	last, idled, ended := l.State()
	assert.EqualValues(t, 7, last, "the end came first")
	assert.True(t, idled)
	assert.True(t, ended)
	assert.False(t, l.EndReleased(), "it ends once")
	assert.False(t, l.EndIdle(7))
}

func TestATouchNeverTurnsTimeBack(t *testing.T) {
	l := idle.LifeAt(5)
	l.TouchAt(3)
	last, _, _ := l.State()
	assert.EqualValues(t, 5, last)
	assert.True(t, l.EndReleased())
	_, idled, ended := l.State()
	assert.False(t, idled)
	assert.True(t, ended)
}
