package hierarchical

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDroppedTimerIsReportedAndItsWorkerEnds is on the real clock: the collector
// knows no fake time.
func TestDroppedTimerIsReportedAndItsWorkerEnds(t *testing.T) {
	for on, reports := range map[bool]int64{true: 1, false: 0} {
		goroutines, leaked := runtime.NumGoroutine(), leaks.Stats().Leaked
		func() {
			timer, err := New(WithLeakDetection(on))
			require.NoError(t, err)
			timeout, err := timer.AfterFunc(time.Hour, func() {})
			require.NoError(t, err)
			timeout.Cancel()
		}()
		for tries := 0; leaks.Stats().Leaked < leaked+reports || runtime.NumGoroutine() > goroutines; tries++ {
			require.Less(t, tries, 1000, "not collected")
			runtime.GC()
			time.Sleep(5 * time.Millisecond)
		}
		require.Equal(t, leaked+reports, leaks.Stats().Leaked)
	}
}
