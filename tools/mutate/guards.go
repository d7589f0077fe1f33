package main

// guards breaks the ground rules of the engine, each under the name it has there.
var guards = []mutant{
	{
		file: "internal/engine/life.go", tests: engine, run: "Racing|Linear|TestCancelReset",
		breaks: "L1: Cancel compares before it stores",
		from:   `if atomic.CompareAndSwapInt64(l, w, ^(w | cancelled)) {`,
		to:     `if atomic.StoreInt64(l, ^(w | cancelled)); true {`,
	},
	{
		file: "internal/engine/life.go", tests: engine, run: "Racing|Linear|TestCancelReset",
		breaks: "L1: expiry compares before it stores",
		from:   `if atomic.CompareAndSwapInt64(l, w, ^(w &^ queued)) {`,
		to:     `if atomic.StoreInt64(l, ^(w &^ queued)); true {`,
	},
	{
		file: "internal/engine/life.go", tests: engine, run: "Racing|Linear|TestCancelReset",
		breaks: "L1: Reset compares before it stores",
		from:   `if atomic.CompareAndSwapInt64(l, w, next) {`,
		to:     `if atomic.StoreInt64(l, next); true {`,
	},
	{
		file: "internal/engine/settle.go", tests: engine, run: "Heard",
		breaks: "L3: queued is cleared before the word is acted on",
		from:   `		w := dequeue(&t.life)`,
		to: `		w := atomic.LoadInt64(&t.life)
		defer dequeue(&t.life)`,
	},
	{
		file: "internal/engine/worker.go", tests: engine, run: "TestFirstCallers",
		breaks: "W1: one caller starts the worker",
		from:   `	case c.phase.CompareAndSwap(unstarted, ticking):`,
		to: `	case c.phase.Load() == unstarted:
		c.phase.Store(ticking)`,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "TestFirstCallers",
		breaks: "W1: one Stop is the first",
		from: `	if was = c.phase.Swap(stopped); was == stopped {
		return was, false
	}`,
		to: `	if was = c.phase.Load(); was == stopped {
		return was, false
	}
	c.phase.Store(stopped)`,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "Unstarted",
		breaks: "Stop ends a timer that never had a worker",
		from:   `if was == unstarted {`,
		to:     `if was == stopped {`,
	},
	{
		file: "internal/engine/worker.go", tests: engine, run: "Token",
		breaks: "W3: the worker takes the token of a caller it met on its way to sleep",
		from:   `if !c.phase.CompareAndSwap(asleep, ticking) && !c.takeToken() {`,
		to:     `if !c.phase.CompareAndSwap(asleep, ticking) && c.phase.Load() == stopped {`,
	},
	{
		file: "internal/engine/worker.go", tests: engine, run: "UnderTheLock",
		breaks: "W4: a tick has the wheel to itself",
		from: `func (c *Core) prepare(now int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
`,
		to: `func (c *Core) prepare(now int64) bool {
`,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "UnderTheLock",
		breaks: "W4: Stop has the wheel to itself",
		from: `	c.mu.Lock()
	defer c.mu.Unlock()
	unprocessed = `,
		to: `	unprocessed = `,
	},
	{
		file: "internal/engine/fire.go", tests: engine, run: "UnderTheLock",
		breaks: "W4: what goes back to the wheel does so under the lock",
		from: `		c.refile()
`,
		to: `		c.mu.Unlock()
		c.refile()
		c.mu.Lock()
`,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "LeavesDue",
		breaks: "W5: while the worker fires, due stays",
		from: `	if !c.firing {
		c.due = nil
	}`,
		to: `	c.due = nil`,
	},
	{
		file: "internal/engine/fire.go", tests: engine, run: "Goexit|Lag",
		breaks: "W5: what is due is fired",
		from: `	c.firing = true
`,
	},
	{
		file: "internal/engine/fire.go", tests: engine, run: "Refiled",
		breaks: "what goes back to the wheel does so for a tick to come",
		from:   `max(c.tickOf(deadlineOf(w)), c.tick+1)`,
		to:     `max(c.tickOf(deadlineOf(w)), c.tick)`,
	},
	{
		file: "internal/engine/intake.go", tests: engine, run: "Stripe",
		breaks: "S1: the worker looks at every stripe before it sleeps",
		from: `	for i := range in.stripes {
		if s := &in.stripes[i]; !s`,
		to: `	for i := range in.stripes[1:] {
		if s := &in.stripes[i]; !s`,
	},
	{
		file: "internal/engine/intake.go", tests: engine, run: "Negative",
		breaks: "S2: the ends are summed first",
		from: `	for i := range in.stripes {
		cancelled += in.stripes[i].cancelled.Load()
	}
	for i := range in.stripes {
		accepted += in.stripes[i].accepted.Load()
	}
`,
		to: `	for i := range in.stripes {
		accepted += in.stripes[i].accepted.Load()
	}
	for i := range in.stripes {
		cancelled += in.stripes[i].cancelled.Load()
	}
`,
	},
	{
		file: "internal/engine/drain.go", tests: engine, run: "TransferCap",
		breaks: "a tick transfers no more than its cap",
		from:   `	room := TransferCap`,
		to:     `	room := TransferCap + 1`,
	},
	{
		file: "internal/engine/drain.go", tests: engine, run: "Cancel|Told|Tell|Goexit",
		breaks: "who is cancelled before the transfer is told",
		from:   `ended(atomic.LoadInt64(&t.life)) && !task.WantsCancelled(t.task)`,
		to:     `ended(atomic.LoadInt64(&t.life)) && !task.WantsCancelled(nil)`,
	},
	{
		file: "internal/engine/settle.go", tests: engine, run: "Drain",
		breaks: "draining ends with its tick",
		from:   `		c.overtime = true`,
		to:     `		c.overtime = false`,
	},
	{
		file: "internal/engine/settle.go", tests: engine, run: "Trailing",
		breaks: "a worker that trails settles some all the same",
		from:   ` && c.popped > popAtLeast && c.now`,
		to:     ` && c.now`,
	},
	{
		file: "internal/engine/drain.go", tests: engine, run: "Starve",
		breaks: "what was changed has a share of its own",
		from: `	c.popped, c.overtime = 0, false // a share of its own, or new timeouts could starve it
`,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "SecondStop",
		breaks: "a second Stop waits until all is taken",
		from: `	<-c.taken // another Stop may be at it; it waits for no users' code
`,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "TellsTheLast",
		breaks: "the worker tells the last when all is taken, not before",
		from: `	<-c.taken // Stop waits for nothing until then
`,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "Telling|Told",
		breaks: "the worker says that it takes no more",
		from:   `	c.gone = !c.firing`,
		to:     `	c.gone = false`,
	},
	{
		file: "internal/engine/watch.go", tests: engine, run: "Slow|Fast|Look",
		breaks: "no task is slow that holds the worker for less than the threshold",
		from:   `now-w.since < w.threshold {`,
		to:     `now-w.since < w.threshold/2 {`,
	},
	{
		file: "internal/engine/watch.go", tests: engine, run: "Slow|Fast|Look",
		breaks: "a worker that has yet to begin is in no slow task",
		from:   `if at != w.seen || at == 0 {`,
		to:     `if at != w.seen {`,
	},
	{
		file: "internal/engine/watch.go", tests: engine, run: "Slow|Fast|Look",
		breaks: "slow tasks are logged once a minute",
		from:   `now-w.loggedAt >= int64(slowLogEvery)`,
		to:     `now-w.loggedAt >= 0`,
	},
}

// extras breaks what is built on the engines, and the leak detector.
var extras = []mutant{
	{
		file: "cache/cache.go", tests: []string{"./cache"},
		breaks: "exact expiry: nothing is found after its deadline",
		from:   `(!c.exact || e.node.deadline > c.now())`,
		to:     `(!c.exact || e.node.deadline >= 0)`,
	},
	{
		file: "cache/cache.go", tests: []string{"./cache"},
		breaks: "what is fetched does not overwrite what was deleted meanwhile",
		from: `	delete(s.flights, key) // what is being fetched is overtaken (C2)
	c.remove(s, key)`,
		to: `	c.remove(s, key)`,
	},
	{
		file: "cache/cache.go", tests: []string{"./cache"},
		breaks: "what is used stays",
		from: `		c.use(e.node)
`,
	},
	{
		file: "clock/timer.go", tests: []string{"./clock"}, run: "Timer|AfterFunc|Reset|Stop",
		breaks: "a stopped timer's channel stays empty",
		from: `	if t.timeout != timeout {
		return false
	}
`,
	},
	{
		file: "clock/timer.go", tests: []string{"./clock"}, run: "Timer|AfterFunc|Reset|Stop",
		breaks: "a Reset of a timer that fired is not late by its old time",
		from: `	active := t.drain()
	t.due = due(`,
		to: `	active := false
	t.due = due(`,
	},
	{
		file: "clock/ticker.go", tests: []string{"./clock"}, run: "Tick",
		breaks: "a ticker that was not heard keeps its rhythm",
		from:   `t.due = due(t.due, period*(1+(at-t.due)/period))`,
		to:     `t.due = due(at, period)`,
	},
	{
		file: "clock/flock.go", tests: []string{"./clock"}, run: "Flock|Ticker|Tick|Firing",
		breaks: "who joined is merged with who ticked",
		from: `		after := f.ring.after(joined.head.due)
		f.ring.splice(after.merge(joined))`,
		to: `		f.ring.splice(joined)`,
	},
	{
		file: "clock/flock.go", tests: []string{"./clock"}, run: "Flock|Ticker|Tick|Firing",
		breaks: "who joined after a firing's reading waits for the next",
		from:   `f.late.until(due(at, f.period))`,
		to:     `f.late.until(due(at, 2*f.period))`,
	},
	{
		file: "clock/flock.go", tests: []string{"./clock"}, run: "Flock|Ticker|Tick|Firing",
		breaks: "tickers that missed ticks are sorted",
		from: `		f.ring.sort()
`,
	},
	{
		file: "clock/ticker.go", tests: []string{"./clock"}, run: "TestResetBeginsANewPeriod",
		breaks: "a Ticker's Reset leaves its old rhythm",
		from: `	t.leave()
	t.flock = t`,
		to: `	t.flock = t`,
	},
	{
		file: "leak/core.go", tests: []string{"./leak"},
		breaks: "a leak is told once, however many there are of it",
		from: `	c.reported[hash] = struct{}{}
`,
	},
	{
		file: "leak/core.go", tests: []string{"./leak"},
		breaks: "a listener's panic ends nothing",
		from:   `if v := recover(); v != nil {`,
		to:     `if v := error(nil); v != nil {`,
	},
	{
		file: "leak/detector.go", tests: []string{"./leak"},
		breaks: "a detector that is disabled chooses nothing",
		from: `	case level == Disabled:
		return false
`,
	},
}
