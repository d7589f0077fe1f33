package cacheline_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/cacheline"
)

func TestPrefetchChangesNothing(t *testing.T) {
	v := [2]int{1, 2}
	cacheline.Prefetch(unsafe.Pointer(&v))
	cacheline.PrefetchPair(unsafe.Pointer(&v[1])) // the second line lies past v
	assert.Equal(t, [2]int{1, 2}, v)
}

func TestPrefetchAcceptsNil(t *testing.T) {
	assert.NotPanics(t, func() {
		cacheline.Prefetch(nil)
		cacheline.PrefetchPair(nil)
	})
}
