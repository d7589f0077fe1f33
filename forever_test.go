package hwt_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// The clock passes the latest deadline, and the ends of many ticks after it.
func TestTimeoutThatNeverExpiresWakesNoTimer(t *testing.T) {
	const tick = 2 * time.Second
	for name, make := range map[string]func() (hwt.Engine, error){
		"hashedwheel":  func() (hwt.Engine, error) { return hashedwheel.New(&hashedwheel.Options{TickDuration: tick}) },
		"hierarchical": func() (hwt.Engine, error) { return hierarchical.New(&hierarchical.Options{TickDuration: tick}) },
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) {
				timer, err := make()
				require.NoError(t, err)
				defer timer.Stop()
				never, err := timer.AfterFunc(math.MaxInt64, func() { t.Error("it expired") })
				require.NoError(t, err)
				time.Sleep((73*365 + 100) * 24 * time.Hour)
				synctest.Wait()
				before := timer.Stats().Wakeups
				time.Sleep(100 * 365 * 24 * time.Hour)
				synctest.Wait()
				assert.LessOrEqual(t, timer.Stats().Wakeups-before, int64(1))
				assert.True(t, never.Reset(time.Hour))
				assert.True(t, never.Cancel())
			})
		})
	}
}
