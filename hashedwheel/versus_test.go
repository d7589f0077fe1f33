package hashedwheel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/versus"
)

// The benchmarks in this file put the wheel and Go's own timers side by side:
//
//	go test -run '^$' -bench Versus -benchtime 1x ./hashedwheel

func newFine(tb testing.TB) hwt.Engine {
	timer, err := hashedwheel.New(&hashedwheel.Options{
		TickDuration:  time.Millisecond,
		TicksPerWheel: 8192,
	})
	require.NoError(tb, err)
	return timer
}

func BenchmarkVersusScheduleCancel(b *testing.B) { versus.ScheduleCancel(b, newFine) }
func BenchmarkNewTimeouts(b *testing.B)          { versus.Batches(b, newFine) }
func BenchmarkVersusResetLater(b *testing.B)     { versus.ResetLater(b, newFine) }
func BenchmarkPendingHeap(b *testing.B)          { versus.PendingHeap(b, newFine) }
func BenchmarkIdle(b *testing.B)                 { versus.Idle(b, newFine) }

func BenchmarkVersusExpire(b *testing.B) {
	versus.Expire(b, newFine, versus.Crowd{Begin: 3 * time.Second})
}
