package hierarchical

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/leak"
)

// TestDroppedTimerIsReportedAndItsWorkerEnds waits for the garbage collector, on the real
// clock.
func TestDroppedTimerIsReportedAndItsWorkerEnds(t *testing.T) {
	before := leaks
	defer func() { leaks = before }()
	for on, reports := range map[bool]int64{true: 1, false: 0} {
		leaks = leak.NewDetector[Timer]("its own", &leak.Options{Listener: func(leak.Report) {}, SamplingInterval: 1}) // no other test's timer counts
		goroutines := runtime.NumGoroutine()
		func() {
			timer, err := New(&Options{DisableLeakDetection: !on})
			require.NoError(t, err)
			timeout, err := timer.AfterFunc(time.Hour, func() {})
			require.NoError(t, err)
			timeout.Cancel()
		}()
		for tries := 0; leaks.Stats().Leaked < reports || runtime.NumGoroutine() > goroutines; tries++ {
			require.Less(t, tries, 1000, "not collected")
			runtime.GC()
			time.Sleep(5 * time.Millisecond)
		}
		require.Equal(t, reports, leaks.Stats().Leaked)
	}
}
