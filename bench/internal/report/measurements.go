package report

import (
	"fmt"
	"slices"

	"github.com/hashedwheel/hwt/bench/internal/results"
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
	"github.com/hashedwheel/hwt/internal/cli"
)

// metric is a value in which engines are compared.
type metric struct {
	name      string  // as in samples
	head      string  // with its unit
	least     float64 // the smallest difference that matters; 0: not compared
	needsWork bool    // counts only for engines that do all of the work
	inGo      bool    // compared only within Go, where the runtime takes a part of it for itself
}

var (
	cpu     = metric{name: spec.CPUNs, head: "CPU, ns", least: 1}
	wall    = metric{name: spec.WallNs, head: "wall time, ns", least: 1}
	alloc   = metric{name: spec.Bytes, head: "allocated, bytes", least: 1}
	heap    = metric{name: spec.HeapBytes, head: "heap, bytes", least: 1}
	cycle   = metric{name: spec.GCMs, head: "GC cycle, ms", least: 0.1}
	core    = metric{name: spec.CorePct, head: "CPU, % of a core", least: 0.05, needsWork: true}
	wakeups = metric{name: spec.WakeUps, head: "context switches per second", least: 1, inGo: true}
	peak    = metric{name: spec.PeakMB, head: "peak memory, MB", least: 1}
	stall   = metric{name: spec.StallMs, head: "longest stall of a bystander, ms", least: 1}
	missed  = metric{name: spec.Behind, head: "not made, %", least: 1}
	done    = metric{name: spec.DoneMs, head: "all done after, ms", least: 10}
	p50     = metric{name: spec.LateP50, head: "lateness p50, ms", least: 0.05, needsWork: true}
	p99     = metric{name: spec.LateP99, head: "lateness p99, ms", least: 0.05, needsWork: true}
	latest  = metric{name: spec.LateMax, head: "lateness max, ms", least: 0.05, needsWork: true}
	callP50 = metric{name: spec.CallP50, head: "NewTimeout p50, µs", least: 1}
	callP99 = metric{name: spec.CallP99, head: "NewTimeout p99, µs", least: 10}
	callMax = metric{name: spec.CallMax, head: "NewTimeout max, µs"}
	stopP50 = metric{name: spec.StopP50, head: "Cancel p50, µs", least: 1}
	stopP99 = metric{name: spec.StopP99, head: "Cancel p99, µs", least: 10}
	stopMax = metric{name: spec.StopMax, head: "Cancel max, µs"}
)

// faults are the ways in which an engine can fail a timeout.
var faults = []metric{
	{name: spec.Early, head: "early"},
	{name: spec.EarlyMs, head: "by up to, ms"},
	{name: spec.Lost, head: "lost"},
	{name: spec.Repeated, head: "repeated"},
	{name: spec.Revived, head: "ran after a cancel"},
	{name: spec.Refused, head: "cancel refused"},
}

// measurement describes a measurement to the reader.
type measurement struct {
	name, title, text string
	metrics           []metric
}

var measurements = []measurement{
	{spec.Schedule, "Schedule", "Timeouts 30 to 90 minutes ahead are scheduled and stay pending.", []metric{cpu, wall, alloc}},
	{spec.Cancel, "Schedule and cancel", "A timeout is scheduled one minute ahead and cancelled; both calls together.", []metric{cpu, wall, alloc}},
	{spec.ResetAll, "Reset each to an earlier time", "Each pending timeout is reset once, to be due within one second after the last reset. CPU counts until the last has run, wall time for the calls. A bystander repeats sleeps of 1 ms.", []metric{cpu, wall, stall}},
	{spec.Heartbeats, "Heartbeats", "Each timeout is reset to its full delay at half of it, at an even pace.", []metric{cpu, core, missed}},
	{spec.Heap, "Memory", "The heap per pending timeout, and a garbage collection over all of them.", []metric{heap, cycle}},
	{spec.Expire, "Due within one second", "Lateness is the time from the deadline to the start of the task.", []metric{cpu, p50, p99, latest}},
	{spec.Burst, "Millions due within one second", "Engines with a goroutine per task are left out.", []metric{done, cpu, p50, p99, latest}},
	{spec.Sustained, "Sustained rates", "Timeouts at an even pace; half of them are cancelled after half their delay.", []metric{missed, p99, cpu, peak}},
	{spec.Saturated, "Beside busy goroutines", "Every 5 ms, 20 probes that were scheduled beforehand are due. Busy goroutines work 200 µs and sleep 1 µs. Unfired probes count with the time waited.",
		[]metric{p50, p99, latest, callP50, callP99, callMax, stopP50, stopP99, stopMax}},
	{spec.Trickle, "Trickle", "Timeouts at random times; half are cancelled after 3 ms, the others expire after 20 ms. The producer's own cost is included.", []metric{core, wakeups, p50, p99, latest}},
	{spec.Lone, "Alone", "One timeout at a time, due after 3 to 20 ms.", []metric{p50, p99, latest}},
	{spec.Correct, "Correctness", "A third of the timeouts are cancelled, half of those about when they are due. A third are reset, a tenth of a second before their deadline or earlier.", faults},
}

// faulty reports whether the engine failed any timeout.
func faulty(r *results.Results, engine string) bool {
	for _, measure := range []string{spec.Correct, spec.Expire} {
		for _, c := range r.Cases(measure) {
			cell := r.Cell(c, engine)
			if slices.ContainsFunc(faults, func(m metric) bool { return cell.Max(m.name) > 0 }) {
				return true
			}
		}
	}
	return false
}

// fair reports whether a low value is not the result of a fault: an engine that runs
// timeouts early, or never, is not late, and one that does less work needs less time.
func fair(r *results.Results, m metric, c spec.Spec, engine string) bool {
	if !m.needsWork {
		return true
	}
	const percent = 1 // the precision of a pace
	cell, ours := r.Cell(c, engine), r.Cell(c, base(r).Name)
	return cell.Max(spec.Early) == 0 && cell.Max(spec.Lost) == 0 &&
		cell.Summary(spec.Behind).Median <= ours.Summary(spec.Behind).Median+percent
}

// number writes a median and its interval.
func number(s stats.Summary) string {
	switch text := cli.Number(s.Median); {
	case !s.Known():
		return absent
	case s.Rounds == 1 || cli.Number(s.Low) == cli.Number(s.High):
		return text
	default:
		return fmt.Sprintf("%s (%s–%s)", text, cli.Number(s.Low), cli.Number(s.High))
	}
}
