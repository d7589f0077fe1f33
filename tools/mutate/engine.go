package main

// lives breaks the state word of a timeout, and what reaches the worker.
var lives = []mutant{
	{
		file: "internal/engine/state.go", tests: engine,
		breaks: "Reset never revives",
		from: `		if ended(w) {
			return w, false
		}
		next := deadline<<1`,
		to: `		next := deadline<<1`,
	},
	{
		file: "internal/engine/state.go", tests: engine,
		breaks: "Cancel is true once, and not after expiry",
		from: `		if ended(w) {
			return w, false
		}
		if atomic.CompareAndSwapInt64(l, w, ^(w | cancelled)) {`,
		to: `		if atomic.CompareAndSwapInt64(l, w, ^(w | cancelled)) {`,
	},
	{
		file: "internal/engine/state.go", tests: engine,
		breaks: "never early: what is due is asked for its deadline once more",
		from:   `if ended(w) || deadlineOf(w) > now {`,
		to:     `if ended(w) {`,
	},
	{
		file: "internal/engine/state.go", tests: engine,
		breaks: "a word that ended keeps how",
		from:   `^(w &^ queued)) { // Linearization point of expiry.`,
		to:     `^(w | queued)) {`,
	},
	{
		file: "internal/engine/timeout.go", tests: engine,
		breaks: "a Reset to earlier reaches the worker",
		from:   `if deadline < deadlineOf(was) {`,
		to:     `if ok && deadline < 0 {`,
	},
	{
		file: "internal/engine/core.go", tests: engine,
		breaks: "a timeout is in one queue at most",
		from: `	if was&queued != 0 { // in a queue already
		c.attend(s, deadline)
		return
	}
`,
	},
	{
		file: "internal/engine/timeout.go", tests: engine,
		breaks: "a Reset to later does not reach the worker",
		from:   `if deadline < deadlineOf(was) {`,
		to:     `if ok {`,
	},
	{
		file: "internal/engine/state.go", tests: engine,
		breaks: "the worker clears queued, so that later changes are pushed",
		from:   `if atomic.CompareAndSwapInt64(l, w, w&^queued) {`,
		to:     `if atomic.CompareAndSwapInt64(l, w, w) {`,
	},
	{
		file: "internal/engine/core.go", tests: hashed, run: "TestContract/wheel=1/Linger",
		breaks: "the worker drops what is cancelled",
		from: `	n := s.removed.Add(1)
	if !s.changed.Push(t) {`,
		to: `	n := s.removed.Add(1)
	if c.phase.Load() == stopped {`,
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
		file: "internal/enginekit/limit.go", tests: hashed, run: "TestContract",
		breaks: "no more than the maximum is pending",
		from:   `if n > l.max-taken {`,
		to:     `if n > l.max-taken+1 {`,
	},
	{
		file: "internal/engine/held.go", tests: hashed, run: "TestContract",
		breaks: "Cancel frees a place",
		from: `		c.held.Add(1)
		c.limit.Give(1)`,
		to: `		c.held.Add(1)`,
	},
	{
		file: "internal/engine/fire.go", tests: hashed, run: "TestContract",
		breaks: "expiry frees a place, before the task runs",
		from: `		c.limit.Give(1)
		c.runner.Run(t, t.task)
`,
		to: `		c.runner.Run(t, t.task)
		c.limit.Give(1)
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
	{
		file: "internal/engine/singles.go", tests: engine, run: "Single|Bucket",
		breaks: "a free single refers to nothing",
		from:   `	*s.at(id) = single{bucket: s.free}`,
		to:     `	s.at(id).bucket = s.free`,
	},
	{
		file: "internal/engine/bucket.go", tests: engine, run: "Single|Bucket|Few",
		breaks: "a timeout that is alone in its bucket takes no chunk",
		from:   `		b.addFirst(i, t, tag)`,
		to:     `		b.addToChunk(i, t, tag)`,
	},
	{
		file: "internal/engine/all.go", tests: hashed, run: "All",
		breaks: "A3: a walk comes past what is alone in its bucket",
		from:   `	case w.lone < held.singles.made:`,
		to:     `	case w.lone < 0:`,
	},
}
