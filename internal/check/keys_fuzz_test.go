package check_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/check"
)

// box is a struct of everything that can make a key unsound. Maps ignore the blank field.
type box struct {
	f    float32
	_    float64
	c    complex128
	pair [2]any
}

// findable reports whether a map finds key again. It panics, and so does the map, if key
// cannot be hashed.
func findable[K comparable](key K) (ok bool) {
	defer func() { _ = recover() }()
	_, ok = map[K]bool{key: true}[key]
	return ok
}

// keyOf returns a value that depends on data, up to depth boxes deep.
func keyOf(data *[]byte, depth int) any {
	next := func() (b byte) {
		if len(*data) > 0 {
			b, *data = (*data)[0], (*data)[1:]
		}
		return b
	}
	float := func() float64 { return []float64{0, math.Copysign(0, -1), 1, math.Inf(1), math.NaN()}[next()%5] }
	switch kind := next() % 12; {
	case kind < 3 && depth > 0:
		return box{float32(float()), float(), complex(float(), 1), [2]any{keyOf(data, depth-1), keyOf(data, depth-1)}}
	case kind == 3 && depth > 0:
		return [1]any{keyOf(data, depth-1)}
	case kind == 4:
		return float()
	case kind == 5:
		return complex64(complex(1, float()))
	case kind == 6:
		return []int{1}
	case kind == 7:
		return [0]func(){}
	case kind == 8:
		return struct{ m map[int]int }{}
	case kind == 9:
		return "text"
	case kind == 10:
		return &box{}
	}
	return nil
}

// FuzzKeys compares the check with a map.
func FuzzKeys(f *testing.F) {
	f.Add([]byte{0, 2, 2, 2, 4, 2, 9})
	f.Add([]byte{0, 2, 4, 2, 4, 2, 9})
	f.Add([]byte{1, 0, 0, 0, 3, 6, 5, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		key := keyOf(&data, 3)
		require.Equal(t, findable(key), check.KeysOf[any]().OK(key))
		if b, ok := key.(box); ok {
			require.Equal(t, findable(b), check.KeysOf[box]().OK(b))
		}
	})
}
