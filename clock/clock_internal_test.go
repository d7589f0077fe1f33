package clock

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestDueSaturates(t *testing.T) {
	const last = time.Duration(math.MaxInt64)
	for _, c := range []struct{ now, d, want time.Duration }{
		{5, 3, 8}, {5, 0, 5}, {5, -1, 5}, {5, math.MinInt64, 5},
		{5, last, last}, {5, last - 5, last}, {5, last - 6, last - 1}, {last, last, last},
	} {
		assert.Equal(t, c.want, due(c.now, c.d), c)
	}
}
