package check_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/check"
)

type point struct {
	name string
	at   [2]float64
}

func TestSoundKeysPass(t *testing.T) {
	assert.True(t, check.KeysOf[int]().OK(7))
	assert.True(t, check.KeysOf[string]().OK(""))
	assert.True(t, check.KeysOf[*int]().OK(nil))
	assert.True(t, check.KeysOf[float64]().OK(math.Inf(1)))
	assert.True(t, check.KeysOf[any]().OK("text"))
	assert.True(t, check.KeysOf[any]().OK(nil))
	assert.True(t, check.KeysOf[point]().OK(point{"a", [2]float64{1, 2}}))
	assert.True(t, check.KeysOf[[0]struct{}]().OK([0]struct{}{}))
}

func TestUnsoundKeysFail(t *testing.T) {
	nan := math.NaN()
	assert.False(t, check.KeysOf[float64]().OK(nan))
	assert.False(t, check.KeysOf[complex64]().OK(complex64(complex(0, nan))))
	assert.False(t, check.KeysOf[any]().OK(nan))
	assert.False(t, check.KeysOf[any]().OK([]int{1}))
	assert.False(t, check.KeysOf[any]().OK(struct{ f func() }{}))
	assert.False(t, check.KeysOf[point]().OK(point{at: [2]float64{0, nan}}))
}

func TestKeysAreCheckedWithoutAllocation(t *testing.T) {
	for name, f := range map[string]func(){
		"int":         func() { check.KeysOf[int]().OK(1) },
		"string":      func() { check.KeysOf[string]().OK("a") },
		"float":       func() { check.KeysOf[float64]().OK(1.5) },
		"struct":      func() { check.KeysOf[point]().OK(point{name: "a"}) },
		"any":         func() { check.KeysOf[any]().OK(1000) },
		"any, struct": func() { check.KeysOf[any]().OK(point{name: "a"}) },
	} {
		t.Run(name, func(t *testing.T) { assert.Zero(t, testing.AllocsPerRun(100, f)) })
	}
}
