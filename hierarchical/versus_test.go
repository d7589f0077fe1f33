package hierarchical_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/versus"
)

// The benchmarks in this file put the wheel and Go's own timers side by side:
//
//	go test -run '^$' -bench Versus -benchtime 1x ./hierarchical

func newDefault(tb testing.TB) hwt.Engine {
	timer, err := hierarchical.New(nil)
	require.NoError(tb, err)
	return timer
}

func BenchmarkVersusScheduleCancel(b *testing.B) { versus.ScheduleCancel(b, newDefault) }
func BenchmarkNewTimeouts(b *testing.B)          { versus.Batches(b, newDefault) }
func BenchmarkVersusResetLater(b *testing.B)     { versus.ResetLater(b, newDefault) }
func BenchmarkPendingHeap(b *testing.B)          { versus.PendingHeap(b, newDefault) }
func BenchmarkIdle(b *testing.B)                 { versus.Idle(b, newDefault) }

// BenchmarkVersusExpire has one crowd that comes due soon, one among a million
// others, and one that begins where a bucket of the third level does: all of it
// cascades at that tick.
func BenchmarkVersusExpire(b *testing.B) {
	for name, crowd := range map[string]versus.Crowd{
		"soon":    {Begin: 3 * time.Second},
		"among":   {Begin: 6 * time.Second, Waiting: 1_000_000},
		"cascade": {Begin: 2 * 64 * 64 * time.Millisecond},
	} {
		b.Run(name, func(b *testing.B) { versus.Expire(b, newDefault, crowd) })
	}
}
