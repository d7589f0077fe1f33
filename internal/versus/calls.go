package versus

import (
	"sync"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

// ScheduleCancel compares NewTimeout and Cancel with time.AfterFunc and Stop, from one
// goroutine and from two, without other timeouts and with a million far ones.
func ScheduleCancel(b *testing.B, newTimer Factory) {
	for _, c := range []struct {
		name      string
		producers int
		pending   int
	}{
		{"pending=0/producers=1", 1, 0},
		{"pending=0/producers=2", 2, 0},
		{"pending=1e6/producers=1", 1, million},
		{"pending=1e6/producers=2", 2, million},
	} {
		b.Run(c.name, func(b *testing.B) {
			const n = 2_000_000
			timer := newTimer.start(b)
			produce := func(f func()) func() {
				return func() {
					var all sync.WaitGroup
					for range c.producers {
						all.Go(func() {
							for range n / c.producers {
								f()
							}
						})
					}
					all.Wait()
					time.Sleep(5 * time.Millisecond) // include the worker's time
				}
			}
			stop := fill(b, timer, far(c.pending))
			defer stop()
			Compare(b, Rounds, n, produce(func() {
				t, _ := timer.NewTimeout(nop, time.Minute)
				t.Cancel()
			}), produce(func() {
				time.AfterFunc(time.Minute, func() {}).Stop()
			}))
		})
	}
}

// ResetLater compares Reset to a later time with that of time.Timer, in two forms. hot
// resets one timeout among a million far ones. heartbeat resets each of a million
// timeouts at half its delay, at an even pace, like timeouts of idle connections. It
// includes the work that a timer postpones from the reset to the old deadline.
func ResetLater(b *testing.B, newTimer Factory) {
	b.Run("form=hot", func(b *testing.B) { resetHot(b, newTimer) })
	b.Run("form=heartbeat", func(b *testing.B) { resetHeartbeat(b, newTimer) })
}

func resetHot(b *testing.B, newTimer Factory) {
	const n = 2_000_000
	timer := newTimer.start(b)
	stop := fill(b, timer, far(million))
	defer stop()
	ours, err := timer.NewTimeout(nop, time.Hour)
	must(b, err)
	theirs := time.AfterFunc(time.Hour, func() {})
	time.Sleep(10 * time.Millisecond)
	b.ReportAllocs()
	Compare(b, Rounds, n, func() {
		for i := range n {
			ours.Reset(time.Hour + time.Duration(i))
		}
	}, func() {
		for i := range n {
			theirs.Reset(time.Hour + time.Duration(i))
		}
	})
}

const (
	heartbeats = 3               // of each timeout
	heartDelay = 4 * time.Second // of each timeout
	heartPace  = 5 * time.Millisecond
)

func resetHeartbeat(b *testing.B, newTimer Factory) {
	timer := newTimer.start(b)
	for b.Loop() {
		var a, t []float64
		for range Rounds {
			ours := make([]hwt.Timeout, million)
			evenly(func(i int) { ours[i], _ = timer.NewTimeout(nop, heartDelay) })
			a = append(a, beat(b, func(i int) bool { return ours[i].Reset(heartDelay) }))
			for _, timeout := range ours {
				timeout.Cancel()
			}
			theirs := make([]*time.Timer, million)
			evenly(func(i int) { theirs[i] = time.AfterFunc(heartDelay, func() {}) })
			t = append(t, beat(b, func(i int) bool { return theirs[i].Reset(heartDelay) }))
			for _, timer := range theirs {
				timer.Stop()
			}
		}
		Report(b, a, t)
	}
}

// evenly calls do with the numbers below a million, evenly over half of heartDelay.
func evenly(do func(int)) {
	const batch = int(million * heartPace / (heartDelay / 2))
	next := time.Now()
	for from := 0; from < million; from += batch {
		for i := from; i < min(from+batch, million); i++ {
			do(i)
		}
		next = next.Add(heartPace)
		time.Sleep(time.Until(next))
	}
}

// beat resets a million timeouts, heartbeats times, and returns the CPU time per reset.
func beat(b *testing.B, reset func(int) bool) float64 {
	late := 0
	each := CPU(b, heartbeats*million, func() {
		for range heartbeats {
			evenly(func(i int) {
				if !reset(i) {
					late++
				}
			})
		}
	})
	if late > 0 {
		b.Logf("the machine was too busy: %d heartbeats came too late", late)
	}
	return each
}
