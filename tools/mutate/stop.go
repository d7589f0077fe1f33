package main

// stops breaks the end of a timer.
var stops = []mutant{
	{
		file: "internal/engine/worker.go", tests: engine,
		breaks: "no tick is processed once Stop has begun",
		from:   `if c.wheel == nil || c.phase.Load() == stopped { // then`,
		to:     `if c.wheel == nil { // then`,
	},
	{
		file: "internal/engine/fire.go", tests: engine,
		breaks: "once Stop has begun, due is left for it",
		from:   `	} // else Stop is about to go through due`,
		to: `	default:
		c.due = nil
	}`,
	},
	{
		file: "internal/engine/fire.go", tests: engine,
		breaks: "what was reset while it was due is at no moment nowhere",
		from:   `w := atomic.LoadInt64(&t.state); !ended(w) {`,
		to:     `w := atomic.LoadInt64(&t.state); !ended(w) && w&queued == 0 {`,
	},
	{
		file: "internal/engine/stop.go", tests: engine,
		breaks: "Stop returns what is due and has not run",
		from: `	for _, t := range c.due {
		end(t)
	}
`,
	},
	{
		file: "internal/engine/stop.go", tests: engine,
		breaks: "Stop returns what waits in the wheel",
		from:   `	c.wheel.Held().All(end)`,
	},
	{
		file: "internal/engine/stop.go", tests: hashed, run: "TestContract/.*workers=1/Stop",
		breaks: "after Stop nothing is accepted",
		from: `	}
	h.close()
`,
		to: `	}
`,
	},
	{
		file: "internal/engine/intake.go", tests: engine,
		breaks: "after Stop no change is accepted",
		from: `		in.stripes[i].changed.Close()
	}`,
		to: `	}`,
	},
	{
		file: "internal/engine/stop.go", tests: engine,
		breaks: "Stop wakes the worker, which ends",
		from:   `	close(c.quit)`,
	},
	{
		file: "internal/engine/stop.go", tests: engine,
		breaks: "the task of what Stop ended gets no notice",
		from:   `			t.put(endedByStop)`,
		to:     `			t.put(place{})`,
	},
	{
		file: "internal/engine/stop.go", tests: engine,
		breaks: "a cancel just before Stop is noticed",
		from:   `c.nextNotices = append(c.nextNotices, t) // its Cancel`,
		to:     `c.nextNotices = append(c.nextNotices[:0], c.nextNotices...) // its Cancel`,
	},
	{
		file: "internal/engine/stop.go", tests: engine,
		breaks: "a cancel that relied on a push that failed is noticed",
		from:   `	if missed {`,
		to:     `	if missed && c.tick < 0 {`,
	},
	{
		file: "internal/engine/stop.go", tests: engine,
		breaks: "a cancel that comes after the worker has ended is noticed",
		from:   `	gone := c.noticesClosed`,
		to:     `	gone := c.noticesClosed && c.wheel != nil`,
	},
	{
		file: "internal/engine/stop.go", tests: engine,
		breaks: "Stop from inside a task does not wait",
		from: `	if h.isWorker(goroutineID()) {
		return
	}
`,
	},
	{
		file: "internal/engine/stop.go", tests: engine,
		breaks: "Stop waits for the task that runs",
		from:   `	if s.wait <= 0 || s`,
		to:     `	if s.wait > 0 || s`,
	},
	{
		file: "internal/engine/cleanup.go", tests: hashed, run: "Leak|Contract/AbandonedTimer|Dropped|Collect",
		breaks: "the worker of a dropped timer ends",
		from: `			c.shut()
			close(c.takenOver) // there is nothing to take
`,
	},
	{
		file: "internal/engine/handle.go", tests: hashed, run: "Collected",
		breaks: "a stopped timer is collectable, whatever its error handler refers to",
		from:   `	h.cleanup.Stop() // it keeps`,
		to:     `	// it keeps`,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "IntakeEmpty",
		breaks: "Stats counts nothing in the intake after Stop",
		from: `				c.took(s, 1)
`,
	},
}
