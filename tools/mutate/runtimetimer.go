package main

// runtimeTimers breaks the engine on Go's own timers.
var runtimeTimers = []mutant{
	{
		file: "runtimetimer/timeout.go", tests: runtimeTimer, run: "Contract",
		breaks: "an ended timeout keeps its deadline",
		from: `	if w < 0 {
		w = ^w
	}
`,
	},
	{
		file: "internal/enginekit/clock.go", tests: []string{"./internal/enginekit", "./hashedwheel"}, run: "Time|Contract",
		breaks: "a deadline is exact however much later it is asked for",
		from:   `now.Add(time.Duration(deadline) - now.Sub(c.start))`,
		to:     `now.Add(time.Duration(deadline))`,
	},
	{
		file: "runtimetimer/shard.go", tests: runtimeTimer,
		breaks: "a goroutine that comes for a time no longer set runs nothing",
		from: `	if e.stale > 0 {
		e.stale--
		return nil
	}
`,
	},
	{
		file: "runtimetimer/shard.go", tests: runtimeTimer,
		breaks: "an entry whose goroutine is on its way is not used again",
		from:   `if e.stale > 0 || s.freeLen == maxFree || s.timer.clock.Inside() {`,
		to:     `if s.freeLen == maxFree || s.timer.clock.Inside() {`,
	},
	{
		file: "runtimetimer/shard.go", tests: runtimeTimer,
		breaks: "an end frees a place",
		from:   `	s.timer.limit.Give(1)`,
	},
	{
		file: "runtimetimer/shard.go", tests: runtimeTimer,
		breaks: "an end drops the task",
		from:   `e.timeout, t.entry = nil, nil`,
		to:     `t.entry = nil`,
	},
	{
		file: "runtimetimer/shard.go", tests: runtimeTimer,
		breaks: "NewTimeout against Stop: refused, or returned",
		from: `	if s.timer.stopped.Load() {
		return false
	}
`,
	},
}
