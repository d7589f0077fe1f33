package versus

import (
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cli"
)

// Batches compares a NewTimeouts of 1,000 tasks with as many calls of NewTimeout, in
// rounds on one timer. It reports two ratios of the batches to the calls: the caller's
// time, and the process's CPU time, which includes the worker and the garbage
// collector.
func Batches(b *testing.B, newTimer Factory) {
	timer := newTimer.start(b)
	tasks := make([]hwt.TimerTask, 1000)
	for i := range tasks {
		tasks[i] = nop
	}
	var batches, calls turn
	for b.Loop() {
		batches.measure(func() {
			_, err := timer.NewTimeouts(tasks, time.Hour)
			must(b, err)
		})
		calls.measure(func() {
			all := make([]hwt.Timeout, len(tasks))
			for i, task := range tasks {
				all[i], _ = timer.NewTimeout(task, time.Hour)
			}
		})
	}
	b.ReportMetric(float64(batches.caller)/float64(calls.caller), "caller-ratio")
	b.ReportMetric(float64(batches.process)/float64(calls.process), "process-cpu-ratio")
	b.ReportMetric(0, "ns/op")
}

// turn is the time of one side in all rounds.
type turn struct{ caller, process time.Duration }

func (t *turn) measure(f func()) {
	before, _ := cli.CPUTime()
	began := time.Now()
	f()
	t.caller += time.Since(began)
	time.Sleep(3 * time.Millisecond) // for the worker
	after, _ := cli.CPUTime()
	t.process += after - before
}
