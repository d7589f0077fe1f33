package main

// observed breaks what an operator sees of a timer.
var observed = []mutant{
	{
		file: "internal/engine/timeout.go", tests: hashed, run: "TestContract/wheel=8,workers=7/Observed",
		breaks: "resets are counted, and none of ended timeouts",
		from: `	if !ok {
		return false
	}
	core.onReset(t, deadline)
`,
		to: `	core.onReset(t, deadline)
	if !ok {
		return false
	}
`,
	},
	{
		file: "internal/engine/timing.go", tests: engine, run: "Timed|Lateness",
		breaks: "a slow task is timed alone",
		from:   `if m.next = 1; took < int64(timedFor) {`,
		to:     `if m.next = 1; took >= 0 {`,
	},
	{
		file: "internal/engine/timing.go", tests: engine, run: "Timed|Lateness",
		breaks: "the lateness of a batch is published",
		from: `		m.counts[i].Add(int64(m.late[i]))
`,
	},
	{
		file: "internal/engine/fire.go", tests: engine, run: "Timed|Lateness",
		breaks: "the last batch of a tick is published",
		from: `	c.endTiming()
`,
	},
	{
		file: "internal/engine/timing.go", tests: engine, run: "Lag|Greatest",
		breaks: "the greatest lag falls again",
		from:   `return i <= now/interval && i > now/interval-intervals`,
		to:     `return i <= now/interval`,
	},
	{
		file: "internal/engine/timing.go", tests: engine, run: "Greatest",
		breaks: "an interval begins with a lag of its own",
		from:   `if slot.interval.Load() != now/interval {`,
		to:     `if slot.interval.Load() < 0 {`,
	},
	{
		file: "internal/engine/timing.go", tests: engine, run: "Lag|Lateness",
		breaks: "the lag shows while the worker is held up",
		from:   `time.Duration(now-l.lookAt.Load())`,
		to:     `time.Duration(0*now)`,
	},
	{
		file: "internal/engine/worker.go", tests: engine, run: "TheAge",
		breaks: "the intake is not as old as the worker's sleep",
		from: `		c.emptied.Store(now)
		c.assistFrom`,
		to: `		c.assistFrom`,
	},
	{
		file: "internal/enginekit/runner.go", tests: hashed, run: "TestContract/.*/Executor",
		breaks: "a task waits in the executor once",
		from:   `if !s.left.CompareAndSwap(false, true) {`,
		to:     `if s.left.Store(true); false {`,
	},
	{
		file: "internal/enginekit/callsite.go", tests: hashed, run: "TestContract/.*/Observed",
		breaks: "a timer's own goroutine is no caller",
		from:   `return !strings.HasPrefix(f.Function, "runtime.")`,
		to:     `return true`,
	},
	{
		file: "internal/enginekit/callsite.go", tests: []string{"./internal/enginekit"},
		breaks: "a package with a longer name is outside the module",
		from:   `if inside && (strings.HasPrefix(path, ".") || strings.HasPrefix(path, "/")) {`,
		to:     `if inside {`,
	},
	{
		file: "internal/enginekit/labels.go", tests: hashed, run: "TestContract/.*/Observed",
		breaks: "a goroutine loses the label of its task",
		from:   `func (l *Labels) reset() { pprof.SetGoroutineLabels(l.after) }`,
		to:     `func (l *Labels) reset() { _ = l.after }`,
	},
	{
		file: "runtimetimer/shard.go", tests: runtimeTimer, run: "TestContract/Observed",
		breaks: "lateness is counted",
		from:   `	s.counts.noteLate(now - int64(t.load().deadline()))`,
		to:     `	_ = now`,
	},
}
