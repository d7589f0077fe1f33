package main

// looks breaks looking at what waits, batches and Shutdown.
var looks = []mutant{
	{
		file: "internal/engine/bucket.go", tests: hashed, run: "Contract/.*/All",
		breaks: "A2: what moves unseen is found",
		from: `	if b.walks != nil {
		b.walks.moved(t)
	}
`,
		to: `	_ = t
`,
	},
	{
		file: "internal/engine/fire.go", tests: engine, run: "BecomesDue",
		breaks: "A2: what becomes due unseen is found",
		from: `			c.walks.moved(t)
`,
	},
	{
		file: "internal/engine/all.go", tests: hashed, run: "Contract/.*/All",
		breaks: "A2: a walk without room passes again",
		from: `			w.again = true
`,
	},
	{
		file: "internal/engine/all.go", tests: hashed, run: "Contract/.*/All",
		breaks: "A1: a walk yields a timeout once",
		from: `	t.marks ^= w.bit
`,
	},
	{
		file: "internal/engine/drain.go", tests: hashed, run: "Contract/.*/All",
		breaks: "A1: what leaves the intake is seen",
		from:   `				t.marks = c.walks.seen // (A1)`,
		to:     `				_ = c.walks.seen`,
	},
	{
		file: "internal/engine/all.go", tests: hashed, run: "Contract/.*/All",
		breaks: "A1: a walk settles what was scheduled before it",
		from: `		c.settleBacklog(&c.intake.stripes[i])
`,
		to: `		_ = i
`,
	},
	{
		file: "internal/engine/all.go", tests: hashed, run: "Contract/.*/All",
		breaks: "a walk that was broken off leaves nothing unseen for the next",
		from: `		ws.broken |= w.bit
`,
	},
	{
		file: "internal/engine/all.go", tests: hashed, run: "Contract/.*/All",
		breaks: "a walk looks at what is due",
		from:   `	case w.tick == c.tick && w.due < len(c.due):`,
		to:     `	case w.tick < 0:`,
	},
	{
		file: "runtimetimer/shard.go", tests: runtimeTimer, run: "Contract/All|Shard",
		breaks: "Stop passes over the bookmarks of a loop",
		from: `		if t == nil { // a bookmark
			continue
		}
`,
	},
	{
		file: "runtimetimer/all.go", tests: runtimeTimer, run: "Contract/All",
		breaks: "a loop ends although its body schedules",
		from:   `	for ; e != end && n > 0; n-- {`,
		to:     `	for ; e != &s.pending && n > 0; n-- {`,
	},
	{
		file: "internal/engine/batch.go", tests: hashed, run: "Contract/.*/Batch",
		breaks: "S4: a batch wakes the worker",
		from: `	if c.phase.Load() != ticking {
		c.wakeWorker() // (S4)
	}
`,
	},
	{
		file: "internal/engine/batch.go", tests: hashed, run: "Contract/.*/Batch",
		breaks: "a batch takes all its places",
		from:   `h.reserve(n)`,
		to:     `h.reserve(1)`,
	},
	{
		file: "mpsc/queue.go", tests: []string{"./mpsc"}, run: "PushAll|Fuzz",
		breaks: "a batch that is refused hangs together no more",
		from: `			q.unlink(newest)
`,
	},
	{
		file: "internal/enginekit/limit.go", tests: []string{"./internal/enginekit"},
		breaks: "places are taken all or none",
		from:   `		if n > l.max-taken {`,
		to:     `		if 0 >= l.max-taken {`,
	},
	{
		file: "internal/enginekit/runner.go", tests: hashed, run: "Contract/.*/Shutdown",
		breaks: "Shutdown hears of a task that ends on the executor",
		from: `		s.runner.Ended()
`,
	},
	{
		file: "internal/enginekit/runner.go", tests: hashed, run: "Contract/.*/Shutdown",
		breaks: "what the executor refused is not waited for",
		from: `		defer s.begin().end()
		r.executorRejected.Add(1)`,
		to: `		r.executorRejected.Add(1)`,
	},
	{
		file: "internal/enginekit/await.go", tests: runtimeTimer, run: "Contract/Shutdown",
		breaks: "two tasks may call Shutdown",
		from: `	w.own += own
`,
		to: `	w.own = own
`,
	},
	{
		file: "internal/engine/shutdown.go", tests: hashed, run: "Contract/.*/Shutdown",
		breaks: "Shutdown waits for the workers",
		from:   `(onWorker || h.awaitWorkers(ctx))`,
		to:     `(onWorker || ctx != nil)`,
	},
	{
		file: "internal/engine/shutdown.go", tests: hashed, run: "Contract/.*/Shutdown",
		breaks: "contexts end when Shutdown gives up",
		from: `	runner.EndContexts()
`,
	},
	{
		file: "internal/engine/stop.go", tests: hashed, run: "Contract/.*/Shutdown",
		breaks: "contexts end when Stop gives up",
		from: `			s.runner.EndContexts()
`,
	},
	{
		file: "internal/engine/all.go", tests: engine, run: "All",
		breaks: "A1: a walk drains its backlog, whatever others cancel meanwhile",
		from: `	c.settleAdded(s, &b)
	return left - int64(b.popped)`,
		to: `	before := s.drained.Load()
	c.settleAdded(s, &b)
	return left - (s.drained.Load() - before)`,
	},
}
