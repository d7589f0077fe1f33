package main

// workers breaks the worker: inserting, expiry, parking and waking.
var workers = []mutant{
	{
		file: "internal/engine/drain.go", tests: engine, run: "Drain",
		breaks: "a worker that is behind drains half of the time at most",
		from:   `d.resumeAt = end + min(end-now, c.tickDur+int64(maxDrainPause))`,
		to:     `d.resumeAt = end`,
	},
	{
		file: "internal/engine/drain.go", tests: engine, run: "Drain",
		breaks: "the intake is left alone only while ticks remain to be made up",
		from:   `if now/c.tickDur > c.tick && now < d.resumeAt {`,
		to:     `if now < d.resumeAt {`,
	},
	{
		file: "internal/engine/drain.go", tests: engine, run: "Drain",
		breaks: "a tick whose drains were cut short is counted",
		from: `	if !d.complete {
		c.totals`,
		to: `	if d.complete {
		c.totals`,
	},
	{
		file: "internal/engine/settle.go", tests: engine,
		breaks: "a timeout is in the wheel once",
		from: `	if t.chunk != 0 {
		c.wheel.Remove(t)
	}
`,
	},
	{
		file: "internal/engine/settle.go", tests: engine,
		breaks: "a task gets notice of its cancellation",
		from:   `case !wasCancelled(atomic`,
		to:     `case !wasExpired(atomic`,
	},
	{
		file: "internal/engine/settle.go", tests: engine, run: "Forgotten|Keeps",
		breaks: "what was settled is forgotten",
		from: `	clear(batch)
`,
	},
	{
		file: "internal/engine/fire.go", tests: engine,
		breaks: "what was reset to later is added again",
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
		from:   `if !c.intake.empty() { // W2`,
		to:     `if c.tick < 0 { // W2`,
	},
	{
		file: "internal/engine/pace.go", tests: engine, run: "MovesTheWheel",
		breaks: "a caller moves a sleeping worker's wheel past nothing that is due",
		from:   `tick = min(tick, c.wheel.Next()-1); tick > c.tick {`,
		to:     `tick > c.tick {`,
	},
	{
		file: "internal/engine/pace.go", tests: []string{"./hashedwheel", "./hierarchical"}, run: "Sleep",
		breaks: "a wheel that stood still while its worker slept is no lag",
		from: `	c.catchUp()
	b := budget`,
		to: `	b := budget`,
	},
	{
		file: "internal/engine/worker.go", tests: engine,
		breaks: "an idle timer sleeps",
		from:   `toTick := c.busy(c.tick) || next <= c.tick+1`,
		to:     `toTick := c.busy(c.tick) || next > c.tick`,
	},
	{
		file: "internal/engine/worker.go", tests: engine,
		breaks: "the worker survives a task's Goexit",
		from:   `		if !finished {`,
		to:     `		if !finished && c.tick < 0 {`,
	},
	{
		file: "internal/engine/handle.go", tests: engine,
		breaks: "a new timeout reaches a sleeping worker",
		from: `	c.attend(s, deadline)
	c.pace(s, n)
	return t, nil`,
		to: `	c.pace(s, n)
	return t, nil`,
	},
	{
		file: "internal/engine/core.go", tests: engine, run: "BehindTheAlarm",
		breaks: "a Cancel of what is in the intake is settled while the worker sleeps",
		from: `		s.cancelled.Add(1)
		c.attend(s, noDeadline)`,
		to: `		s.cancelled.Add(1)`,
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
		from:   `c.hasReset = true // reset since it came due`,
		to:     `c.hasReset = false`,
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
		from:   `		moved.put(hole)`,
		to:     `		moved.put(last)`,
	},
	{
		file: "internal/engine/chunks.go", tests: engine, run: "Chunk|Slab|Bucket",
		breaks: "a full slab has no free chunk",
		from:   `	if sl.used++; sl.used == slabLen {`,
		to:     `	if sl.used++; sl.used > slabLen {`,
	},
	{
		file: "internal/engine/chunks.go", tests: engine, run: "Chunk|Slab|Bucket",
		breaks: "a chunk is allocated once",
		from:   `	sl.free = c.next`,
		to:     `	sl.free = id`,
	},
	{
		file: "internal/engine/chunks.go", tests: engine, run: "Chunk|Slab|Bucket",
		breaks: "chunks are allocated in the first slab that has one",
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
		file: "internal/engine/watchdog.go", tests: engine, run: "Slow",
		breaks: "a slow task is found once",
		from: `	w.found = spot
`,
		to: ``,
	},
}
