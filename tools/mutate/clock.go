package main

// clocks breaks timers, tickers, contexts and schedules, and their end.
var clocks = []mutant{
	{
		file: "clock/timer.go", tests: []string{"./clock"}, run: "Timer|AfterFunc|Reset|Stop",
		breaks: "a stopped timer's channel stays empty",
		from: `	if t.timeout == nil || !ended(t.timeout) {
		return false
	}
`,
	},
	{
		file: "clock/timer.go", tests: []string{"./clock"}, run: "Timer|AfterFunc|Reset|Stop",
		breaks: "a Reset of a timer that fired leaves nothing stale",
		from: `	active := t.drain()
	t.due = t.clock.in(`,
		to: `	active := false
	t.due = t.clock.in(`,
	},
	{
		file: "clock/timer.go", tests: []string{"./clock"}, run: "Timer|AfterFunc|Reset|Stop",
		breaks: "a task that is late fires nothing after a Reset",
		from:   `t.timeout == nil || !ended(t.timeout)`,
		to:     `t.timeout == nil`,
	},
	{
		file: "clock/ticker.go", tests: []string{"./clock"}, run: "Tick",
		breaks: "a ticker that was not received from keeps its phase",
		from:   `t.due = due(t.due, period*(1+(at-t.due)/period))`,
		to:     `t.due = due(at, period)`,
	},
	{
		file: "clock/group.go", tests: []string{"./clock"}, run: "Tick|Firing",
		breaks: "tickers that joined are merged with those that ticked",
		from: `		after := g.ring.takeAfter(joined.head.due)
		g.ring.splice(after.merge(joined))`,
		to: `		g.ring.splice(joined)`,
	},
	{
		file: "clock/group.go", tests: []string{"./clock"}, run: "Tick|Firing",
		breaks: "a ticker that joined after a firing read the clock waits for the next",
		from:   `g.late.takeUntil(due(at, g.period))`,
		to:     `g.late.takeUntil(due(at, 2*g.period))`,
	},
	{
		file: "clock/group.go", tests: []string{"./clock"}, run: "Tick|Firing",
		breaks: "tickers that missed ticks are sorted",
		from: `		g.ring.sort()
`,
	},
	{
		file: "clock/group.go", tests: []string{"./clock"}, run: "Tick|Firing",
		breaks: "a ticker group whose task was lost ticks when another ticker joins",
		from:   `(g.timeout == nil || ended(g.timeout))`,
		to:     `(g.timeout == nil || g.timeout.IsCancelled())`,
	},
	{
		file: "clock/group.go", tests: []string{"./clock"}, run: "TestFullExecutor",
		breaks: "a full executor silences no ticker",
		from: `	go x.Run(timeout)
`,
	},
	{
		file: "clock/timer.go", tests: []string{"./clock"}, run: "TestFullExecutor",
		breaks: "a full executor loses no timer",
		from: `	go x.Run(timeout)
`,
	},
	{
		file: "clock/clock.go", tests: []string{"./clock"}, run: "Bubble",
		breaks: "a ticker from another bubble is refused",
		from: `	c.bubble.Check(int64(now))
`,
	},
	{
		file: "clock/clock.go", tests: []string{"./clock"}, run: "Failures|FuncsOnTimer",
		breaks: "a function that panics ends nothing",
		from:   `	usercode.Run(f, func(err error) {`,
		to:     `	f(); _ = usercode.Run; _ = (func(err error) {`,
	},
	{
		file: "clock/job.go", tests: []string{"./clock"}, run: "TestFullExecutor",
		breaks: "a full executor silences no job",
		from: `	go x.Run(timeout)
`,
	},
	{
		file: "clock/ticker.go", tests: []string{"./clock"}, run: "TestResetBeginsANewPeriod",
		breaks: "a Ticker's Reset leaves its old group",
		from: `	t.leave()
	t.group = t`,
		to: `	t.group = t`,
	},
	{
		file: "clock/context.go", tests: []string{"./clock"}, run: "TestContext",
		breaks: "a context with an earlier parent asks it",
		from: `		ctx.deadline = earlier
`,
		to: `		return context.WithCancel(parent)
`,
	},
	{
		file: "clock/timer.go", tests: []string{"./clock"}, run: "Timer|AfterFunc",
		breaks: "a timer that is due fires at once",
		from: `	if d > 0 {
		t.timeout`,
		to: `	if d > -1<<62 {
		t.timeout`,
	},
	{
		file: "clock/schedule.go", tests: []string{"./clock"}, run: "Drift|Missed|Jitter",
		breaks: "a relative schedule counts from the time a run was due",
		from:   `	if !due.IsZero() {`,
		to:     `	if false {`,
	},
	{
		file: "clock/schedule.go", tests: []string{"./clock"}, run: "Drift|Missed|Jitter",
		breaks: "runs that were missed are not made up for",
		from:   `!next.at.Before(time.Now())`,
		to:     `true`,
	},
	{
		file: "clock/schedule.go", tests: []string{"./clock"}, run: "Drift|Missed|Jitter",
		breaks: "jitter does not carry over to the next time",
		from:   `	return planned{due, due.Add(rand.N(s.limit))}`,
		to: `	due = due.Add(rand.N(s.limit))
	return planned{due, due}`,
	},
	{
		file: "clock/end.go", tests: []string{"./clock"}, run: "End",
		breaks: "End leaves what is pending",
		from:   `!timeout.IsCancelled() || `,
		to:     ``,
	},
	{
		file: "clock/end.go", tests: []string{"./clock"}, run: "End",
		breaks: "End finds the clock's tasks in those of a timer that wraps them",
		from:   `			task = t.Unwrap()`,
		to: `			task = t.Unwrap()
			return false`,
	},
	{
		file: "clock/end.go", tests: []string{"./clock"}, run: "End",
		breaks: "End leaves the contexts of other clocks",
		from:   `if ctx.clock != c {`,
		to:     `if ctx.clock == nil {`,
	},
	{
		file: "clock/end.go", tests: []string{"./clock"}, run: "End",
		breaks: "End leaves to a context the error of its parent",
		from:   `if ctx.parent.Err() != nil {`,
		to:     `if false {`,
	},
	{
		file: "clock/end.go", tests: []string{"./clock"}, run: "End",
		breaks: "End leaves a timer that was reset since",
		from:   `if t.timeout == nil || !ended(t.timeout) {`,
		to:     `if t.timeout == nil {`,
	},
	{
		file: "clock/end.go", tests: []string{"./clock"}, run: "End",
		breaks: "End leaves a group of tickers that was armed since",
		from:   `if g.firing || !ended(g.timeout) {`,
		to:     `if g.firing {`,
	},
	{
		file: "clock/end.go", tests: []string{"./clock"}, run: "End",
		breaks: "End wakes the waiter of an After",
		from:   `if t.C == nil && t.f == nil {`,
		to:     `if false {`,
	},
	{
		file: "clock/sleep.go", tests: []string{"./clock"}, run: "End",
		breaks: "a second End wakes no later Sleep",
		from:   `if <-w.c {`,
		to:     `if <-w.c || true {`,
	},
}
