package hashedwheel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

func TestAllYieldsATimeoutAloneInItsBucket(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		const n = 200
		timer, err := hashedwheel.New(&hashedwheel.Options{TicksPerWheel: 2 * n})
		require.NoError(t, err)
		defer timer.Stop()
		for i := range n {
			_, err := timer.AfterFunc(time.Duration(2+i)*100*time.Millisecond, func() {})
			require.NoError(t, err)
		}
		seen := map[hwt.Timeout]bool{}
		for timeout := range timer.All() {
			assert.False(t, seen[timeout])
			seen[timeout] = true
		}
		assert.Len(t, seen, n)
	})
}
