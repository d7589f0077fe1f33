package main

// lives breaks the word in which a timeout lives, and how the worker is told.
var lives = []mutant{
	{
		file: "internal/engine/life.go", tests: engine,
		breaks: "Reset never revives",
		from: `		if ended(w) {
			return false, false
		}
`,
	},
	{
		file: "internal/engine/life.go", tests: engine,
		breaks: "Cancel is true once, and not after expiry",
		from: `		if ended(w) {
			return w, false
		}
		if atomic.CompareAndSwapInt64(l, w, ^(w | cancelled)) {`,
		to: `		if atomic.CompareAndSwapInt64(l, w, ^(w | cancelled)) {`,
	},
	{
		file: "internal/engine/life.go", tests: engine,
		breaks: "never early: what is due is asked for its deadline once more",
		from:   `if ended(w) || deadlineOf(w) > now {`,
		to:     `if ended(w) {`,
	},
	{
		file: "internal/engine/life.go", tests: engine,
		breaks: "a word that ended keeps how",
		from:   `^(w &^ queued)) { // Linearization point of expiry.`,
		to:     `^(w | queued)) {`,
	},
	{
		file: "internal/engine/life.go", tests: engine,
		breaks: "a Reset to earlier is heard by the worker",
		from:   `push = w&queued == 0 && deadline < deadlineOf(w)`,
		to:     `push = false`,
	},
	{
		file: "internal/engine/life.go", tests: engine,
		breaks: "a timeout is in one queue at most",
		from:   `push = w&queued == 0 && deadline < deadlineOf(w)`,
		to:     `push = deadline < deadlineOf(w)`,
	},
	{
		file: "internal/engine/life.go", tests: engine,
		breaks: "a Reset to later tells nobody",
		from:   `push = w&queued == 0 && deadline < deadlineOf(w)`,
		to:     `push = w&queued == 0`,
	},
	{
		file: "internal/engine/life.go", tests: engine,
		breaks: "the worker clears queued, so that later changes are pushed",
		from:   `if atomic.CompareAndSwapInt64(l, w, w&^queued) {`,
		to:     `if atomic.CompareAndSwapInt64(l, w, w) {`,
	},
	{
		file: "internal/engine/core.go", tests: hashed, run: "TestContract/wheel=1/Linger",
		breaks: "the worker lets go of what is cancelled",
		from:   `if was&queued == 0 && !c.pushChanged(t) {`,
		to:     `if was&queued == 0 && c.phase.Load() == stopped {`,
	},
}

// workers breaks the worker: filing, expiry, parking and waking.
var workers = []mutant{
	{
		file: "internal/engine/drain.go", tests: engine, run: "Drain",
		breaks: "draining takes half of the worker's time at most",
		from:   `c.drainFrom = end + min(end-now, c.tickDur+int64(maxRest))`,
		to:     `c.drainFrom = end`,
	},
	{
		file: "internal/engine/drain.go", tests: engine, run: "Drain",
		breaks: "a pause while draining holds up nothing after it",
		from:   `c.drainFrom = end + min(end-now, c.tickDur+int64(maxRest))`,
		to:     `c.drainFrom = end + (end - now)`,
	},
	{
		file: "internal/engine/drain.go", tests: engine, run: "Drain",
		breaks: "who does not drain does not fall asleep either",
		from: `	if now < c.drainFrom {
		c.quiet = false
`,
		to: `	if now < c.drainFrom {
`,
	},
	{
		file: "internal/engine/settle.go", tests: engine,
		breaks: "a timeout is in the wheel once",
		from: `	if t.place != (place{}) {
		c.wheel.Remove(t)
	}
`,
	},
	{
		file: "internal/engine/settle.go", tests: engine,
		breaks: "who is cancelled is told",
		from:   `if wasCancelled(atomic`,
		to:     `if wasExpired(atomic`,
	},
	{
		file: "internal/engine/settle.go", tests: engine, run: "Forgotten|Keeps",
		breaks: "what was settled is forgotten",
		from: `	clear(batch)
`,
	},
	{
		file: "internal/engine/worker.go", tests: engine,
		breaks: "what was reset to later is filed again",
		from: `			c.settle(c.moveOf(t, w))
		default:`,
		to: `		default:`,
	},
	{
		file: "internal/engine/worker.go", tests: engine,
		breaks: "no tick is passed over at which something is due",
		from:   `c.tick = min(now/c.tickDur, max(c.wheel.Next(), c.tick+1))`,
		to:     `c.tick = now / c.tickDur`,
	},
	{
		file: "internal/engine/worker.go", tests: engine, run: "Lag",
		breaks: "empty ticks cost nothing, also after a lag",
		from:   `c.tick = min(now/c.tickDur, max(c.wheel.Next(), c.tick+1))`,
		to:     `c.tick++`,
	},
	{
		file: "internal/engine/worker.go", tests: engine,
		breaks: "no lost wake-up: the worker looks once more when it is asleep",
		from: `		if c.intakeEmpty() {
			return c.doze(c.nextDue)
		}
`,
		to: `		if c.tick >= 0 {
			return c.doze(c.nextDue)
		}
`,
	},
	{
		file: "internal/engine/worker.go", tests: engine,
		breaks: "a rouse leaves no token behind",
		from:   `return c.phase.CompareAndSwap(asleep, ticking) || c.takeToken()`,
		to:     `return c.phase.CompareAndSwap(asleep, ticking) || c.phase.Load() == ticking`,
	},
	{
		file: "internal/engine/worker.go", tests: engine,
		breaks: "an idle timer wakes nobody",
		from:   `if c.quiet && c.nextDue > next && c.phase`,
		to:     `if c.quiet && c.nextDue > next+1<<40 && c.phase`,
	},
	{
		file: "internal/engine/worker.go", tests: engine,
		breaks: "the worker survives a task's Goexit",
		from:   `		if !finished {`,
		to:     `		if !finished && c.tick < 0 {`,
	},
	{
		file: "internal/engine/handle.go", tests: engine,
		breaks: "a new timeout wakes the worker",
		from:   `if c.phase.Load() != ticking {`,
		to:     `if c.phase.Load() == unstarted {`,
	},
	{
		file: "internal/engine/core.go", tests: hashed, run: "TestContract",
		breaks: "a cancel or reset wakes the worker",
		from:   `if c.phase.Load() != ticking {`,
		to:     `if c.phase.Load() == unstarted {`,
	},
	{
		file: "internal/engine/fire.go", tests: engine,
		breaks: "a task's Goexit costs no other its run",
		from:   `c.position.Store(int64(i + 1))`,
		to:     `c.position.Store(int64(i + 2))`,
	},
	{
		file: "internal/engine/fire.go", tests: engine,
		breaks: "what was reset while it was due is not lost",
		from:   `c.spared = true // reset since it came due`,
		to:     `c.spared = false`,
	},
	{
		file: "internal/engine/fire.go", tests: engine,
		breaks: "what was fired is forgotten",
		from:   `		c.due = emptied(c.due)`,
		to:     `		c.due = c.due[:0]`,
	},
	{
		file: "internal/engine/bucket.go", tests: engine,
		breaks: "a timeout that is moved within its bucket knows its place",
		from:   `		moved.place = hole`,
		to:     `		moved.place = last`,
	},
	{
		file: "internal/engine/chunks.go", tests: engine, run: "Chunk|Slab|Bucket",
		breaks: "a full slab has no chunk to spare",
		from:   `	if sl.used++; sl.used == slabLen {`,
		to:     `	if sl.used++; sl.used > slabLen {`,
	},
	{
		file: "internal/engine/chunks.go", tests: engine, run: "Chunk|Slab|Bucket",
		breaks: "a chunk is taken once",
		from:   `	sl.free = c.next`,
		to:     `	sl.free = id`,
	},
	{
		file: "internal/engine/chunks.go", tests: engine, run: "Chunk|Slab|Bucket",
		breaks: "chunks are taken where the first is to spare",
		from:   `	s.lowest = min(s.lowest, i/64)`,
		to:     `	s.lowest = max(s.lowest, i/64)`,
	},
	{
		file: "internal/engine/chunks.go", tests: engine, run: "Chunk|Slab|Bucket",
		breaks: "what is in the first slab is kept as it grows",
		from: `	copy(larger, sl.chunks)
`,
	},
	{
		file: "internal/engine/chunks.go", tests: engine, run: "Chunk|Slab|Bucket",
		breaks: "of two empty slabs the last goes back",
		from:   `	last := max(i, s.idle-1)`,
		to:     `	last := min(i, s.idle-1)`,
	},
	{
		file: "internal/engine/chunks.go", tests: engine, run: "Chunk|Slab|Bucket",
		breaks: "a slab that fills again is not the empty one that is kept",
		from:   `	if s.idle == i+1 {`,
		to:     `	if s.idle == i {`,
	},
	{
		file: "internal/engine/bucket.go", tests: engine,
		breaks: "what is due together runs near the order of submission",
		from:   `	slices.Reverse(taken[from:])`,
		to:     `	slices.Reverse(taken[from:from])`,
	},
	{
		file: "internal/engine/watch.go", tests: engine,
		breaks: "a slow task is told once",
		from:   `if w.found || now-w.since < w.threshold {`,
		to:     `if now-w.since < w.threshold {`,
	},
}

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
		from:   `w := atomic.LoadInt64(&t.life); !ended(w) {`,
		to:     `w := atomic.LoadInt64(&t.life); !ended(w) && w&queued == 0 {`,
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
		from:   `	c.wheel.All(end)`,
	},
	{
		file: "internal/engine/stop.go", tests: engine,
		breaks: "after Stop nothing is accepted",
		from:   `	c.intake.close()`,
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
		breaks: "what Stop ended is not told that it was cancelled",
		from:   `			t.place = swept`,
		to:     `			t.place = place{}`,
	},
	{
		file: "internal/engine/stop.go", tests: engine,
		breaks: "a cancel just before Stop is told",
		from:   `					c.last = append(c.last, t) // its Cancel`,
		to:     `					c.last = append(c.last[:0], c.last...) // its Cancel`,
	},
	{
		file: "internal/engine/stop.go", tests: engine,
		breaks: "a cancel that relied on a push that failed is told",
		from:   `	if missed {`,
		to:     `	if missed && c.tick < 0 {`,
	},
	{
		file: "internal/engine/stop.go", tests: engine,
		breaks: "a cancel that comes to tell after the worker has gone is told",
		from:   `	gone := c.gone`,
		to:     `	gone := c.gone && c.wheel != nil`,
	},
	{
		file: "internal/engine/stop.go", tests: engine,
		breaks: "Stop from inside a task waits for nobody",
		from:   `if id, _ := goroutine(); id == c.workerID.Load() || c.wait <= 0 {`,
		to:     `if c.wait <= 0 {`,
	},
	{
		file: "internal/engine/stop.go", tests: engine,
		breaks: "Stop waits for the task that runs",
		from:   `if id, _ := goroutine(); id == c.workerID.Load() || c.wait <= 0 {`,
		to:     `if id, _ := goroutine(); id == c.workerID.Load() || c.wait > 0 {`,
	},
	{
		file: "internal/engine/lifetime.go", tests: hashed, run: "Leak|Contract/AbandonedTimer|Dropped|Collect",
		breaks: "the worker of a dropped timer ends",
		from: `		c.shut()
		close(c.taken) // by nobody: there is nothing to take
`,
	},
	{
		file: "internal/engine/handle.go", tests: hashed, run: "Collected",
		breaks: "a stopped timer is collectable, whatever its error handler refers to",
		from:   `	h.cleanup.Stop() // it holds`,
		to:     `	// it holds`,
	},
}

// bounds breaks deadlines, limits and counts.
var bounds = []mutant{
	{
		file: "internal/engine/core.go", tests: engine,
		breaks: "a tick is the first that comes no earlier than the deadline",
		from:   `return (deadline-1)/c.tickDur + 1`,
		to:     `return deadline/c.tickDur + 1`,
	},
	{
		file: "internal/engine/core.go", tests: engine,
		breaks: "endless delays never come",
		from:   `return now + min(max(int64(delay), 0), forever-now)`,
		to:     `return now + max(int64(delay), 0)`,
	},
	{
		file: "internal/engine/core.go", tests: engine,
		breaks: "a negative delay is none",
		from:   `return now + min(max(int64(delay), 0), forever-now)`,
		to:     `return now + min(max(int64(delay), -int64(delay)), forever-now)`,
	},
	{
		file: "internal/engine/core.go", tests: hashed, run: "TestContract",
		breaks: "no more than the maximum is pending",
		from:   `if n >= c.limit {`,
		to:     `if n > c.limit {`,
	},
	{
		file: "internal/engine/core.go", tests: hashed, run: "TestContract",
		breaks: "Cancel frees a place",
		from: `	c.release(1)
	if was&queued`,
		to: `	if was&queued`,
	},
	{
		file: "internal/engine/fire.go", tests: hashed, run: "TestContract",
		breaks: "expiry frees a place, before the task runs",
		from: `		c.release(1)
		c.runner.Run(t, t.task)
`,
		to: `		c.runner.Run(t, t.task)
		c.release(1)
`,
	},
	{
		file: "internal/engine/fire.go", tests: hashed, run: "TestContract",
		breaks: "accepted = expired + cancelled + unprocessed",
		from:   `		c.totals.expired.Add(1)`,
	},
	{
		file: "internal/engine/handle.go", tests: hashed, run: "TestContract",
		breaks: "what Stop refused does not count as accepted",
		from: `		s.accepted.Add(-1)
`,
	},
}
