package hierarchical_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// The benchmarks in this file put the wheel and Go's own timers side by side:
//
//	go test -run '^$' -bench Versus -benchtime 1x ./hierarchical

func newDefault(tb testing.TB) hwt.Engine {
	timer, err := hierarchical.New(nil)
	require.NoError(tb, err)
	return timer
}

func BenchmarkVersusScheduleCancel(b *testing.B) { enginetest.ScheduleCancel(b, newDefault) }
func BenchmarkNewTimeouts(b *testing.B)          { enginetest.Batches(b, newDefault) }
func BenchmarkVersusResetLater(b *testing.B)     { enginetest.ResetLater(b, newDefault) }
func BenchmarkPendingHeap(b *testing.B)          { enginetest.PendingHeap(b, newDefault) }
func BenchmarkIdle(b *testing.B)                 { enginetest.Idle(b, newDefault) }

// BenchmarkVersusExpire has one crowd that comes due soon, one among a million
// others, and one that begins where a bucket of the third level does: all of it
// cascades at that tick.
func BenchmarkVersusExpire(b *testing.B) {
	for name, crowd := range map[string]enginetest.Crowd{
		"soon":    {Begin: 3 * time.Second},
		"among":   {Begin: 6 * time.Second, Waiting: 1_000_000},
		"cascade": {Begin: 2 * 64 * 64 * time.Millisecond},
	} {
		b.Run(name, func(b *testing.B) { enginetest.Expire(b, newDefault, crowd) })
	}
}
