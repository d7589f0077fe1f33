package keys_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/keys"
)

type point struct {
	name string
	at   [2]float64
}

func TestKeysThatAreFoundAgainPass(t *testing.T) {
	assert.True(t, keys.For[int]().OK(7))
	assert.True(t, keys.For[string]().OK(""))
	assert.True(t, keys.For[*int]().OK(nil))
	assert.True(t, keys.For[float64]().OK(math.Inf(1)))
	assert.True(t, keys.For[any]().OK("text"))
	assert.True(t, keys.For[any]().OK(nil))
	assert.True(t, keys.For[point]().OK(point{"a", [2]float64{1, 2}}))
	assert.True(t, keys.For[[0]struct{}]().OK([0]struct{}{}))
}

func TestKeysThatAreNeverFoundAgainFail(t *testing.T) {
	nan := math.NaN()
	assert.False(t, keys.For[float64]().OK(nan))
	assert.False(t, keys.For[complex64]().OK(complex64(complex(0, nan))))
	assert.False(t, keys.For[any]().OK(nan))
	assert.False(t, keys.For[any]().OK([]int{1}))
	assert.False(t, keys.For[any]().OK(struct{ f func() }{}))
	assert.False(t, keys.For[point]().OK(point{at: [2]float64{0, nan}}))
}

func TestAPlainKeyIsCheckedWithoutAllocation(t *testing.T) {
	ints, strings := keys.For[int](), keys.For[string]()
	assert.Zero(t, testing.AllocsPerRun(100, func() { ints.OK(1); strings.OK("a") }))
}
