package main

var inspected = []string{"./inspect"}

// watched breaks the live page and the exporters.
var watched = []mutant{
	{
		file: "inspect/hub.go", tests: inspected, run: "NothingRuns",
		breaks: "nothing looks at the timers once the last page is closed",
		from: `	if h.watchers--; h.watchers == 0 {
`,
		to: `	if h.watchers--; h.watchers < 0 {
`,
	},
	{
		file: "inspect/hub.go", tests: inspected, run: "SectionsAreRead",
		breaks: "what sections do ends with the last page",
		from: `		h.cancel()
`,
	},
	{
		file: "inspect/cell.go", tests: inspected, run: "Escaped",
		breaks: "control characters of sections are not passed on",
		from:   `unicode.IsControl(r) || `,
	},
	{
		file: "inspect/upcoming.go", tests: inspected, run: "Pending",
		breaks: "the earliest timeouts are listed",
		from:   `return e.due[i].at.After(e.due[j].at)`,
		to:     `return e.due[i].at.Before(e.due[j].at)`,
	},
	{
		file: "inspect/pending.go", tests: inspected, run: "Streamed",
		breaks: "a client that is gone ends its stream",
		from:   `return s.err == nil`,
		to:     `return true`,
	},
	{
		file: "inspect/events.go", tests: inspected, run: "Shutdown",
		breaks: "a server's shutdown ends the events",
		from:   `close(down.(chan struct{}))`,
		to:     `_ = down`,
	},
	{
		file: "inspect/hub.go", tests: inspected, run: "Panic",
		breaks: "a panic of users' code does not end the program",
		from:   `usercode.Run(f, func(err error) { h.publish(stop, topicProblem, err.Error()) })`,
		to:     `usercode.Run(f, func(err error) { panic(err) })`,
	},
	{
		file: "internal/engine/inspect.go", tests: []string{"./internal/inspection"}, run: "Full",
		breaks: "the parts of a full bucket are counted",
		from:   `seen = append(seen, groupCount{ring, bucket, g.n})`,
		to:     `seen = append(seen, groupCount{ring, bucket, 1})`,
	},
	{
		file: "metrics/timer.go", tests: []string{"./metrics"}, run: "EveryCount",
		breaks: "every count is exported",
		from: `	counter("timer.wakeups", "Times the worker woke from sleep", func(s stats) int64 { return s.Wakeups }),
`,
	},
}
