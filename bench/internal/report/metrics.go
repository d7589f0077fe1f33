package report

import "github.com/hashedwheel/hwt/bench/internal/spec"

// metric is a figure that engines are compared in. Less is better.
type metric struct {
	name  string // as in samples
	title string
	unit  string
	least float64 // the smallest difference that matters to anybody
}

// head names the metric and its unit.
func (m metric) head() string {
	if m.unit == "" {
		return m.title
	}
	return m.title + ", " + m.unit
}

// write writes a value: numbers of timeouts have no fractions.
func (m metric) write(v float64) string {
	if m.name == spec.Early {
		return whole(v)
	}
	return number(v)
}

// shownOnly are the metrics of expiry that are shown and not compared: less is
// not better in them, or is a fault that is told of elsewhere.
var shownOnly = []metric{{spec.Early, "ran early", "", 0}, {spec.LateMin, "late, min", "ms", 0}}

// measurement describes one measurement for the reader.
type measurement struct {
	measure string
	title   string
	text    string // what is done; true whatever comes out
	metrics []metric
	plot    string // file, or empty
	resets  bool   // uses resets
}

var perCall = []metric{
	{spec.CPUNs, "CPU", "ns", 1}, {spec.WallNs, "wall time", "ns", 1},
	{spec.Bytes, "allocated", "bytes", 1}, {spec.Allocs, "allocations", "", 0.05},
}

var perBeat = []metric{
	{spec.CPUNs, "CPU", "ns", 1}, {spec.CorePct, "CPU of one core", "%", 0.05}, {spec.Behind, "not done in time", "%", 1},
}

// paceText says how to read what is measured at a pace.
const paceText = "What was not done in time took no CPU time either, so look at that column first: " +
	"in CPU of one core an engine that fell behind is not compared."

// measurements are the page's sections.
var measurements = []measurement{
	{measure: spec.Cancel, title: "Schedule and cancel", plot: "benchmarks-cancel.svg",
		text: "A timeout is scheduled one minute ahead and cancelled at once, the life of most request deadlines. " +
			"The figures are for both calls together.", metrics: perCall},
	{measure: spec.Schedule, title: "Schedule",
		text: "Timeouts between 30 and 90 minutes ahead are scheduled and stay pending, on top of the background.", metrics: perCall},
	{measure: spec.ResetLater, title: "Reset to later", resets: true,
		text: "One timeout is reset to a later time, again and again.", metrics: perCall},
	{measure: spec.ResetEarlier, title: "Reset to earlier", resets: true,
		text: "One timeout is reset to an earlier time, again and again.", metrics: perCall},
	{measure: spec.ResetAll, title: "Reset many to earlier", resets: true,
		text: "Each pending timeout is reset once, to about half its delay.", metrics: perCall},
	{measure: spec.Heartbeats, title: "Heartbeats: reset many to later", resets: true,
		text: "Each of many timeouts is reset to its full delay when half of it has passed, at an even pace. " +
			"Work that an engine puts off until the old deadline is in this figure, and so is what pacing costs. " + paceText,
		metrics: perBeat},
	{measure: spec.Heap, title: "Memory, and what it costs the garbage collector",
		text: "The heap that each pending timeout holds, the engine's own parts included, and the length of a garbage collection with so many pending. " +
			"Netty's collection stops the program for all of that time, Go's for a small part of it.",
		metrics: []metric{{spec.HeapBytes, "heap", "bytes", 1}, {spec.GCMs, "a GC cycle", "ms", 0.1}}},
	{measure: spec.Expire, title: "Many coming due within one second", plot: "benchmarks-lateness.svg",
		text: "The CPU time is that of the whole process for each timeout, with the task's own reading of the clock. " +
			"Where an engine runs its tasks (see the table of engines) decides much of it: a goroutine for each costs more, " +
			"and keeps a slow task from holding up the others. " +
			"Lateness is how long after its deadline a task ran; what is below zero ran before it. Of the timeouts, " +
			"half ran at most as late as p50 says, all but one in a hundred as p99, all but one in a thousand as p99.9.",
		metrics: []metric{{spec.CPUNs, "CPU", "ns", 1}, {spec.LateP50, "late, p50", "ms", 0.05}, {spec.LateP99, "late, p99", "ms", 0.05},
			{spec.LateP999, "late, p99.9", "ms", 0.05}, {spec.LateMax, "late, max", "ms", 0.05}}},
	{measure: spec.Idle, title: "Waiting",
		text: "Nothing happens: nothing is pending, or what is pending is at least half an hour away. " +
			"A wake-up is a voluntary context switch of any thread of the process.",
		metrics: []metric{{spec.WakeUps, "wake-ups", "a second", 1}, {spec.CorePct, "CPU of one core", "%", 0.05}}},
	{measure: spec.Deadlines, title: "Deadlines of connections", resets: true,
		text: "The workload of golang/go issue 41699: each timer is reset to 5 s and then to 10 s every 20 ms. " +
			"Here one goroutine does it for all of them, at an even pace; a figure is for both resets. " + paceText,
		metrics: perBeat},
	{measure: spec.Goroutines, title: "Deadlines of connections, a goroutine each", resets: true,
		text: "The same with a goroutine for each timer, as in that issue. They sleep on the runtime's own timers " +
			"between the resets, whatever the engine, which is part of every row. " + paceText,
		metrics: perBeat},
}

// find returns the section of a measurement.
func find(measure string) measurement {
	for _, m := range measurements {
		if m.measure == measure {
			return m
		}
	}
	return measurement{}
}
