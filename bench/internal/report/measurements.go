package report

import (
	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/bench/internal/stats"
)

// metric is a figure that engines are compared in.
type metric struct {
	name      string  // as in samples
	head      string  // with its unit
	least     float64 // the smallest difference that matters; 0: the figure is not compared
	more      bool    // more is better
	needsWork bool    // counts only for engines that do all of the work
	ratio     bool    // is shown with the ratio to our base
}

// better reports whether a is better than b.
func (m metric) better(a, b stats.Summary) bool {
	if m.more {
		return a.Median > b.Median
	}
	return a.Median < b.Median
}

var (
	cpu      = metric{name: spec.CPUNs, head: "CPU, ns", least: 1, ratio: true}
	wall     = metric{name: spec.WallNs, head: "wall time, ns", least: 1, ratio: true}
	alloc    = metric{name: spec.Bytes, head: "allocated, bytes", least: 1, ratio: true}
	heap     = metric{name: spec.HeapBytes, head: "heap, bytes", least: 1, ratio: true}
	cycle    = metric{name: spec.GCMs, head: "GC cycle, ms", least: 0.1, ratio: true}
	core     = metric{name: spec.CorePct, head: "CPU, % of a core", least: 0.05, needsWork: true, ratio: true}
	wakeups  = metric{name: spec.WakeUps, head: "context switches a second", least: 1, ratio: true}
	perSec   = metric{name: spec.PerSec, head: "operations a second", least: 1, more: true, ratio: true}
	peak     = metric{name: spec.PeakMB, head: "peak memory, MB", least: 1, ratio: true}
	missed   = metric{name: spec.Behind, head: "not made, %", least: 1}
	done     = metric{name: spec.DoneMs, head: "all done after, ms", least: 10, ratio: true}
	early    = metric{name: spec.Early, head: "early"}
	earliest = metric{name: spec.LateMin, head: "late, min, ms"}
	p50      = metric{name: spec.LateP50, head: "late, p50, ms", least: 0.05, needsWork: true}
	p99      = metric{name: spec.LateP99, head: "late, p99, ms", least: 0.05, needsWork: true, ratio: true}
	p999     = metric{name: spec.LateP999, head: "late, p99.9, ms", least: 0.05, needsWork: true}
	latest   = metric{name: spec.LateMax, head: "late, max, ms", least: 0.05, needsWork: true}
)

// measurement describes one measurement for the reader.
type measurement struct {
	name    string
	title   string
	text    string // what is done; true whatever comes out
	metrics []metric
	plot    string // file, or empty
	resets  bool   // uses resets
	byCase  bool   // a table a case, with the metrics as columns; otherwise a table a metric
}

// measurements are the page's sections.
var measurements = []measurement{
	{name: spec.Cancel, title: "Schedule and cancel", metrics: []metric{cpu, wall, alloc}, plot: cancelPlot,
		text: "A timeout is scheduled one minute ahead and cancelled at once. A figure is for both calls."},
	{name: spec.Schedule, title: "Schedule", metrics: []metric{cpu, wall, alloc},
		text: "Timeouts between 30 and 90 minutes ahead are scheduled and stay pending."},
	{name: spec.ResetLater, title: "Reset to later", metrics: []metric{cpu, wall}, resets: true,
		text: "One timeout is reset to a later time, again and again."},
	{name: spec.ResetEarlier, title: "Reset to earlier", metrics: []metric{cpu, wall}, resets: true,
		text: "One timeout is reset to an earlier time, again and again."},
	{name: spec.ResetAll, title: "Reset each to earlier", metrics: []metric{cpu, wall}, resets: true, byCase: true,
		text: "Each pending timeout is reset once, to about half its delay."},
	{name: spec.Heartbeats, title: "Heartbeats", metrics: []metric{cpu, core, missed}, resets: true, byCase: true,
		text: "Each timeout is reset to its full delay when half of it has passed, at an even pace. " +
			"Work that an engine puts off until the old deadline is part of the figure."},
	{name: spec.Heap, title: "Memory", metrics: []metric{heap, cycle},
		text: "The heap that each pending timeout holds, and the length of a garbage collection over them."},
	{name: spec.Expire, title: "Due within one second", plot: latenessPlot, byCase: true,
		metrics: []metric{cpu, early, earliest, p50, p99, p999, latest},
		text: "All timeouts come due within one second. Lateness is how long after its deadline a task ran. " +
			"Where tasks run decides much of the cost; see the table of engines."},
	{name: spec.Burst, title: "Millions due within one second", byCase: true,
		metrics: []metric{done, cpu, p50, p99, latest},
		text: "The same with so many that the processors are busy for longer than the second. " +
			"Engines that start a goroutine for each task are left out."},
	{name: spec.FullSpeed, title: "Producers at full speed", metrics: []metric{perSec, cpu, p50, p99, latest, peak}, byCase: true,
		text: "Each producer keeps 100,000 timeouts pending: an operation schedules one and cancels the oldest, " +
			"as fast as it can. Probes of 5 ms measure the lateness."},
	{name: spec.ShortLived, title: "Cancelled after 100 ms", metrics: []metric{cpu, missed, p50, p99, latest, peak}, byCase: true,
		text: "The same at a pace. Each timeout is cancelled 100 ms after it was scheduled."},
	{name: spec.ResetStorm, title: "Resets at full speed", metrics: []metric{perSec, cpu, p50, p99, latest, peak}, resets: true, byCase: true,
		text: "One producer resets timeouts to other times far ahead, as fast as it can. " +
			"Probes that are 30 hours ahead are reset to 5 ms, and their lateness is measured."},
	{name: spec.LongTick, title: "A tick of 100 ms", metrics: []metric{cpu, missed, p50, p99, latest, peak}, byCase: true,
		text: "Timeouts are scheduled at an even pace, and all come due. " +
			"Engines with a tick have one of 100 ms, except those whose tick is fixed, which are left out."},
	{name: spec.Sustained, title: "Sustained rates", metrics: []metric{p99, cpu, peak}, plot: sustainedPlot,
		text: "Timeouts are scheduled at an even pace. Half of them are cancelled after half their delay, the others come due. " +
			"An engine is not tried at a higher rate after one at which it made less than 90 % of the operations, " +
			"or ran one timeout in a hundred more than a second late."},
	{name: spec.Saturated, title: "Busy processors", metrics: []metric{p50, p99, latest}, byCase: true,
		text: "Each task schedules the next one 5 ms ahead, in several chains, " +
			"among goroutines that work for 200 µs, sleep for a moment, and work again."},
	{name: spec.Trickle, title: "A trickle", metrics: []metric{core, wakeups, p50, p99, latest}, byCase: true,
		text: "Timeouts are scheduled at random times. Half are cancelled after 3 ms, the others come due after 20 ms. " +
			"The figures include what the producer itself uses."},
	{name: spec.Idle, title: "Waiting", metrics: []metric{core, wakeups},
		text: "What is pending is at least half an hour away."},
	{name: spec.Deadlines, title: "Deadlines of connections", metrics: []metric{cpu, core, missed}, resets: true, byCase: true,
		text: "The workload of golang/go issue 41699: each timer is reset to 5 s and then to 10 s every 20 ms, here by one goroutine. " +
			"A figure is for both resets."},
	{name: spec.Goroutines, title: "Deadlines of connections, a goroutine each", metrics: []metric{cpu, core, missed}, resets: true, byCase: true,
		text: "The same with a goroutine for each timer, as in that issue. They sleep on the runtime's timers between resets."},
}
