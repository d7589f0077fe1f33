package main

// keys breaks timers by key.
var keys = []mutant{
	{
		file: "keyed/expire.go", tests: []string{"./keyed"},
		breaks: "a pair's old timeout does not fire its new value",
		from: `		if !known || !a.isTask(p) {
			return p, xsync.CancelOp
		}
		value, ok = p.value, true
		return p`,
		to: `		if !known {
			return p, xsync.CancelOp
		}
		value, ok = p.value, true
		return p`,
	},
	{
		file: "keyed/expire.go", tests: []string{"./keyed"}, run: "Refus",
		breaks: "the refusal of an old timeout does not touch the new pair",
		from: `		if !known || !a.isTask(p) {
			return p, xsync.CancelOp
		}
		value, ok = p.value, true
		var`,
		to: `		if !known {
			return p, xsync.CancelOp
		}
		value, ok = p.value, true
		var`,
	},
	{
		file: "keyed/expire.go", tests: []string{"./keyed"}, run: "Refus",
		breaks: "a refused pair comes due again",
		from:   `		return pair[K, V]{value, again}, xsync.UpdateOp`,
		to: `		_ = again
		return p, xsync.CancelOp`,
	},
	{
		file: "keyed/pair.go", tests: []string{"./keyed"}, run: "Update",
		breaks: "an updated pair belongs to its timeout",
		from:   `	return ok && l.origin == a`,
		to:     `	return ok && l.origin != a`,
	},
	{
		file: "keyed/pair.go", tests: []string{"./keyed"}, run: "Update",
		breaks: "K6: a value set without a new timeout is another version",
		from:   `		return current.relink(), nil`,
		to:     `		return current, nil`,
	},
	{
		file: "keyed/update.go", tests: []string{"./keyed"}, run: "Update",
		breaks: "Update overwrites no other change",
		from:   `swapped = known && p.alarm == old.alarm; `,
		to:     `swapped = known; `,
	},
	{
		file: "keyed/pair.go", tests: []string{"./keyed"},
		breaks: "setting a key again leaves no timeout behind",
		from: `	case err == nil:
		current.timeout.Cancel()
`,
		to: `	case err == nil:
`,
	},
	{
		file: "keyed/pair.go", tests: []string{"./keyed"},
		breaks: "a pair whose timeout has expired can still be moved",
		from: `	return w.schedule(key, delay)
}

// schedule`,
		to: `	return current, nil
}

// schedule`,
	},
	{
		file: "keyed/set.go", tests: []string{"./keyed"},
		breaks: "a removed pair leaves no timeout behind",
		from:   `		p.alarm.timeout.Cancel() // false`,
		to:     `		// false`,
	},
	{
		file: "keyed/wheel.go", tests: []string{"./keyed"},
		breaks: "a drain leaves no timeout behind",
		from: `		p.alarm.timeout.Cancel()
		f(key, p)`,
		to: `		f(key, p)`,
	},
	{
		file: "keyed/entry.go", tests: []string{"./keyed"}, run: "Entry",
		breaks: "an entry is the pair as it was at one moment",
		from:   `now.alarm == p.alarm {`,
		to:     `now.alarm != nil {`,
	},
	{
		file: "keyed/entry.go", tests: []string{"./keyed"}, run: "Entry",
		breaks: "an entry that never comes due is not loaded as overdue",
		from:   `if e.Due.IsZero() {`,
		to:     `if false {`,
	},
	{
		file: "keyed/drain.go", tests: []string{"./keyed"},
		breaks: "a callback that ends its goroutine prevents no other call",
		from: `		if !finished {
			d.workers.Go(d.work)`,
		to: `		if !finished && d.f == nil {
			d.workers.Go(d.work)`,
	},
}
