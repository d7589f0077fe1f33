package hwttest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// TestFloodOfResetsDelaysNoOther resets more timeouts to earlier deadlines than a worker
// drains in one go, and then one to a much earlier deadline.
func TestFloodOfResetsDelaysNoOther(t *testing.T) {
	const tick, far, n = time.Millisecond, 30 * time.Hour, 250_000
	for name, newTimer := range makers {
		if name == "runtimetimer" { // has no worker
			continue
		}
		t.Run(name, func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) {
				e, err := newTimer(numbers{tick: tick, size: 512})
				require.NoError(t, err)
				defer e.Stop()
				timeouts := make([]hwt.Timeout, n)
				for i := range timeouts {
					timeouts[i], err = e.AfterFunc(far, func() {})
					require.NoError(t, err)
				}
				for round := range 2 {
					var ran time.Time
					probe, err := e.AfterFunc(far, func() { ran = time.Now() })
					require.NoError(t, err)
					time.Sleep(time.Second) // The worker stores all of them.
					for i, timeout := range timeouts {
						timeout.Reset(far - time.Duration(round*n+i+1)*time.Microsecond)
					}
					deadline := time.Now().Add(tick)
					require.True(t, probe.Reset(tick))
					time.Sleep(3 * tick)
					synctest.Wait()
					require.False(t, ran.IsZero(), "it waits for the flood")
					assert.False(t, ran.Before(deadline))
					assert.LessOrEqual(t, ran.Sub(deadline), tick)
				}
				assert.EqualValues(t, n, e.Pending())
			})
		})
	}
}
