package main

// edges breaks what holds at the edges: across bubbles, at limits, while stopping,
// and where users' hooks misbehave.
var edges = []mutant{
	{
		file: "internal/engine/core.go", tests: hashed, run: "TestContract",
		breaks: "a wheel from outside panics in a bubble",
		from: `	s.clock.Check(now)
`,
		to: ``,
	},
	{
		file: "internal/engine/handle.go", tests: hashed, run: "TestContract/wheel=8/Bubbles",
		breaks: "a call that panics takes no place",
		from: `	deadline := setup.deadline(delay) // before anything is counted, because it may panic
	if setup.limit.Max() > 0 {
		if err := h.reserve(1); err != nil {
			return nil, err
		}
	}
`,
		to: `	if setup.limit.Max() > 0 {
		if err := h.reserve(1); err != nil {
			return nil, err
		}
	}
	deadline := setup.deadline(delay)
`,
	},
	{
		file: "internal/engine/stop.go", tests: hashed, run: "TestContract/wheel=8/Bubbles",
		breaks: "Stop outside the bubble touches no channel of its",
		from:   `if s := h.setup(); s.clock.Foreign() {`,
		to:     `if s := h.setup(); s == nil {`,
	},
	{
		file: "runtimetimer/runtimetimer.go", tests: runtimeTimer, run: "TestContract/Bubbles",
		breaks: "a runtimetimer from outside panics in a bubble",
		from: `	t.clock.Check(int64(now))
`,
		to: ``,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "Goroutine",
		breaks: "Stop waits for a worker that it does not know",
		from:   `return id != 0 && id == c.workerID.Load()`,
		to:     `return id == c.workerID.Load()`,
	},
	{
		file: "internal/engine/goroutine.go", tests: engine, run: "Goroutine",
		breaks: "the runtime's traces show the goroutine",
		from:   `[]byte("goroutine ")`,
		to:     `[]byte("Goroutine ")`,
	},
	{
		file: "internal/engine/cleanup.go", tests: engine, run: "LogHandler",
		breaks: "the warning is marked as given before it is",
		from:   `warned.CompareAndSwap(false, true) {`,
		to:     `!warned.Load() {`,
	},
	{
		file: "internal/engine/options.go", tests: engine, run: "Options|Raised",
		breaks: "a log handler's panic stays out of New",
		from:   `		r.Warn(fmt.Sprintf(`,
		to:     `		r.Logger.Warn(fmt.Sprintf(`,
	},
	{
		file: "internal/enginekit/name.go", tests: []string{"./internal/enginekit"},
		breaks: "the log names a function",
		from: `	if v := reflect.ValueOf(task); v.Kind() == reflect.Func {
		return funcName(v.Pointer())
	}
	return`,
		to: `	return`,
	},
	{
		file: "internal/enginekit/name.go", tests: runtimeTimer, run: "TestContract/Observed",
		breaks: "each function has its own pprof label",
		from:   `		key.pc = v.Pointer()`,
		to:     `		_ = v.Pointer()`,
	},
	{
		file: "runtimetimer/shard.go", tests: runtimeTimer,
		breaks: "Stop waits for a task that is about to begin",
		from: `	s.running.Add(1)
	s.counts.expired++
`,
		to: `	s.counts.expired++
`,
	},
	{
		file: "runtimetimer/running.go", tests: runtimeTimer, run: "Stop",
		breaks: "Stop from a task waits for nothing",
		from:   `t.clock.Foreign() || insideTask() {`,
		to:     `t.clock.Foreign() {`,
	},
	{
		file: "runtimetimer/running.go", tests: runtimeTimer, run: "Stop",
		breaks: "the last task to end lets Stop go on",
		from: `			s.timer.checkNone()
`,
		to: ``,
	},
	{
		file: "runtimetimer/shard.go", tests: runtimeTimer, run: "TestContract/Stop",
		breaks: "Stop waits for callbacks",
		from:   `if enginekit.WantsCancelled(t.task) {`,
		to:     `if enginekit.WantsCancelled(nil) {`,
	},
	{
		file: "internal/engine/worker.go", tests: []string{"."}, run: "LeakCheckers",
		breaks: "leak checkers know the worker by its name",
		from: `	c.workers.Add(1)
	go runWorker(c, s)`,
		to: `	c.workers.Add(1)
	go c.work(s)`,
	},
	{
		file: "internal/engine/watchdog.go", tests: engine, run: "SlowTask",
		breaks: "a warning of a slow task says that the process was starved",
		from:   `		w.starved += now - w.dueAt`,
		to:     `		_ = w.dueAt`,
	},
	{
		file: "internal/engine/watchdog.go", tests: engine, run: "Executor",
		breaks: "an executor that blocks is named",
		from:   `if c.runner.Executor != nil {`,
		to:     `if false {`,
	},
	{
		file: "internal/enginekit/clock.go", tests: []string{"./internal/enginekit"},
		breaks: "time never goes back in one bubble",
		from:   `if now < latest {`,
		to:     `if false {`,
	},
}
