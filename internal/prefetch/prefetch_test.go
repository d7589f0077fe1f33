package prefetch_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/prefetch"
)

func TestNothingChanges(t *testing.T) {
	v := [2]int{1, 2}
	prefetch.Line(unsafe.Pointer(&v))
	prefetch.Lines(unsafe.Pointer(&v[1])) // the second line lies past v
	assert.Equal(t, [2]int{1, 2}, v)
}

func TestNilIsHarmless(t *testing.T) {
	assert.NotPanics(t, func() {
		prefetch.Line(nil)
		prefetch.Lines(nil)
	})
}
