package main

// wheels breaks the two wheels.
var wheels = []mutant{
	{
		file: "hashedwheel/wheel.go", tests: hashed, run: "Wheel|Contract",
		breaks: "the worker comes for what is added",
		from:   `	w.next = min(w.next, tick)`,
	},
	{
		file: "hashedwheel/wheel.go", tests: hashed, run: "Wheel|Contract",
		breaks: "a bucket knows its next tick",
		from:   `	w.nexts[i] = min(w.nexts[i], tick)`,
		to:     `	w.nexts[i] = tick`,
	},
	{
		file: "hashedwheel/wheel.go", tests: hashed, run: "Wheel|Contract",
		breaks: "the search looks no further than it reaches, and comes again",
		from:   `		earliest = min(earliest, w.tick+1+int64(w.reach))`,
	},
	{
		file: "hashedwheel/wheel.go", tests: hashed, run: "Wheel|Contract",
		breaks: "an emptied wheel wakes nobody",
		from: `	if w.buckets.Count() == 0 {
		w.next = empty
	}
`,
	},
	{
		file: "hierarchical/wheel.go", tests: hierarchical, run: "Filed|Reach|Current",
		breaks: "a level takes what it reaches, and no more",
		from:   `if l := &w.levels[i]; tick < l.limit {`,
		to:     `if l := &w.levels[i]; tick <= l.limit {`,
	},
	{
		file: "hierarchical/wheel.go", tests: hierarchical, run: "Filed|Reach|Current",
		breaks: "a level reaches one turn ahead, and no further",
		from:   `{ return (w.tick/unit + w.size) * unit }`,
		to:     `{ return (w.tick/unit + w.size + 1) * unit }`,
	},
	{
		file: "hierarchical/wheel.go", tests: hierarchical, run: "Wheel|Contract|Cascade",
		breaks: "a bucket is due at the first tick of its span",
		from:   `b, first = &l.buckets[n%w.size], n*l.unit`,
		to:     `b, first = &l.buckets[n%w.size], tick`,
	},
	{
		file: "hierarchical/wheel.go", tests: hierarchical, run: "Bucket|Split",
		breaks: "a bucket that was emptied counts nothing",
		from:   `		w.counts[b.Value.index] = 0`,
	},
	{
		file: "hierarchical/wheel.go", tests: hierarchical, run: "Wheel|Contract|Cascade|Many|Crowd",
		breaks: "a cancelled timeout leaves an empty bucket, for which nobody wakes",
		from:   `func (w *wheel) Remove(t *engine.Timeout) { w.counts[w.set.Remove(t)]-- }`,
		to:     `func (w *wheel) Remove(t *engine.Timeout) { w.set.Remove(t) }`,
	},
	{
		file: "hierarchical/bucket.go", tests: hierarchical, run: "Bucket|Split",
		breaks: "parts in use are not used again",
		from:   `if s.alone && s.queued == 0 {`,
		to:     `if s.queued == 0 {`,
	},
	{
		file: "hierarchical/internal/delayqueue/queue.go", tests: []string{"./hierarchical/internal/delayqueue"},
		breaks: "nothing comes before its time",
		from:   `if head == nil || head.due > now {`,
		to:     `if head == nil || head.due > now+1 {`,
	},
}

// queues breaks the queue.
var queues = []mutant{
	{
		file: "mpsc/queue.go", tests: []string{"./mpsc"},
		breaks: "a second Close loses nothing",
		from: `	if q.Closed() {
		return false
	}
`,
	},
	{
		file: "mpsc/queue.go", tests: []string{"./mpsc"},
		breaks: "a closed queue refuses",
		from: `			link.next = nil
			return false
`,
		to: `			link.next = nil
			return true
`,
	},
	{
		file: "mpsc/queue.go", tests: []string{"./mpsc"},
		breaks: "what was pushed before Close is drained",
		from:   `return head == nil || head == &q.mark && q.takeLink.of(head).next == nil`,
		to:     `return head == nil || head == &q.mark`,
	},
	{
		file: "mpsc/queue.go", tests: []string{"./mpsc"},
		breaks: "elements come in the order of their pushes",
		from:   `		q.takeLink.of(q.latest).next = first`,
		to:     `		q.takeLink.of(last).next, q.oldest, last = q.oldest, first, q.latest`,
	},
	{
		file: "mpsc/queue.go", tests: []string{"./mpsc"},
		breaks: "an element that was popped keeps no other alive",
		from:   `	q.oldest, link.next = link.next, nil // e`,
		to:     `	q.oldest = link.next // e`,
	},
	{
		file: "mpsc/queue.go", tests: []string{"./mpsc"},
		breaks: "a pruned element can be pushed again, and keeps no other alive",
		from: `			link.next = nil
			continue
`,
		to: `			continue
`,
	},
}

// tasks breaks the isolation of users' code.
var tasks = []mutant{
	{
		file: "internal/task/runner.go", tests: []string{"./internal/task"},
		breaks: "a task's panic ends nothing",
		from: `			r.broken(timeout, recover())
		}
	}()
	err := task.Run(timeout)`,
		to: `			r.broken(timeout, nil)
		}
	}()
	err := task.Run(timeout)`,
	},
	{
		file: "internal/task/runner.go", tests: []string{"./internal/task"},
		breaks: "a callback's panic ends nothing",
		from: `			r.broken(timeout, recover())
		}
	}()
	task.Cancelled(timeout)`,
		to: `			r.broken(timeout, nil)
		}
	}()
	task.Cancelled(timeout)`,
	},
	{
		file: "internal/task/runner.go", tests: []string{"./internal/task"},
		breaks: "an executor's panic ends nothing",
		from: `			r.broken(timeout, recover())
		}
	}()
	err := r.Executor.Execute(task)`,
		to: `			r.broken(timeout, nil)
		}
	}()
	err := r.Executor.Execute(task)`,
	},
	{
		file: "internal/task/runner.go", tests: []string{"./internal/task"},
		breaks: "an error handler's panic ends nothing",
		from:   `if v := recover(); v != nil {`,
		to:     `if v := error(nil); v != nil {`,
	},
	{
		file: "internal/task/runner.go", tests: []string{"./internal/task"},
		breaks: "a log that panics ends nothing",
		from:   `defer func() { _ = recover() }() // there`,
		to:     `// there`,
	},
	{
		file: "internal/task/runner.go", tests: []string{"./internal/task"},
		breaks: "a refusal of the executor is reported",
		from:   `		r.report(timeout, fmt.Errorf("hwt: executor refused the task: %w", err))`,
		to:     `		_ = fmt.Errorf("hwt: executor refused the task: %w", err)`,
	},
}

// runtimeTimers breaks the engine on Go's own timers.
var runtimeTimers = []mutant{
	{
		file: "runtimetimer/shard.go", tests: runtimeTimer,
		breaks: "a goroutine that comes for a time no longer set runs nothing",
		from: `	if a.stale > 0 {
		a.stale--
		return nil
	}
`,
	},
	{
		file: "runtimetimer/shard.go", tests: runtimeTimer,
		breaks: "an arm whose goroutine is on its way is not used again",
		from:   `if a.stale > 0 || s.spares == spareArms {`,
		to:     `if s.spares == spareArms {`,
	},
	{
		file: "runtimetimer/shard.go", tests: runtimeTimer,
		breaks: "an end frees a place",
		from:   `	s.timer.limit.give()`,
	},
	{
		file: "runtimetimer/shard.go", tests: runtimeTimer,
		breaks: "an end lets go of the task",
		from:   `a.timeout, n.arm = nil, nil`,
		to:     `n.arm = nil`,
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

// others breaks what is built on the engines.
var others = []mutant{
	{
		file: "keyed/pair.go", tests: []string{"./keyed"},
		breaks: "a pair's old timeout does not fire its new value",
		from:   `if !known || p.timeout.Task() != hwt.TimerTask(t) {`,
		to:     `if !known {`,
	},
	{
		file: "keyed/pair.go", tests: []string{"./keyed"},
		breaks: "setting a key again leaves no timeout behind",
		from: `	case err == nil:
		current.Cancel()
`,
		to: `	case err == nil:
`,
	},
	{
		file: "keyed/pair.go", tests: []string{"./keyed"},
		breaks: "a pair whose timeout has come due can be moved all the same",
		from: `	return w.schedule(key, delay)
}

// replace`,
		to: `	return current, nil
}

// replace`,
	},
	{
		file: "keyed/wheel.go", tests: []string{"./keyed"},
		breaks: "a removed pair leaves no timeout behind",
		from:   `		p.timeout.Cancel() // false`,
		to:     `		// false`,
	},
	{
		file: "keyed/wheel.go", tests: []string{"./keyed"},
		breaks: "a drain leaves no timeout behind",
		from: `		p.timeout.Cancel()
		f(key, p.value)`,
		to: `		f(key, p.value)`,
	},
	{
		file: "keyed/drain.go", tests: []string{"./keyed"},
		breaks: "a callback that ends its goroutine costs no other its call",
		from: `		if !finished {
			d.workers.Go(d.work)`,
		to: `		if !finished && d.f == nil {
			d.workers.Go(d.work)`,
	},
	{
		file: "idle/life.go", tests: []string{"./idle"},
		breaks: "a connection that ended stays so",
		from:   `if last < 0 || last >= now {`,
		to:     `if last >= now {`,
	},
	{
		file: "idle/cohort.go", tests: []string{"./idle"},
		breaks: "nothing is closed before its timeout",
		from:   `		case at > now:`,
		to:     `		case at > now+1:`,
	},
	{
		file: "idle/cohort.go", tests: []string{"./idle"},
		breaks: "a newcomer that is due earlier hastens its cohort",
		from:   `	case at < c.due:`,
		to:     `	case at < c.due && at < 0:`,
	},
}
