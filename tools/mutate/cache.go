package main

// caches breaks the expiring cache.
var caches = []mutant{
	{
		file: "cache/get.go", tests: []string{"./cache"},
		breaks: "exact expiry: nothing is found after its deadline",
		from:   `c.checks() && it.deadline <= c.now()`,
		to:     `c.checks() && it.deadline < 0`,
	},
	{
		file: "cache/get.go", tests: []string{"./cache"},
		breaks: "a used entry is not evicted",
		from: `		u.used.Store(true)
`,
	},
	{
		file: "cache/get.go", tests: []string{"./cache"}, run: "Sliding|TTLBounds|Order",
		breaks: "the TTL bounds sliding expiration",
		from:   `min(most, it.deadline)`,
		to:     `most`,
	},
	{
		file: "cache/item.go", tests: []string{"./cache"}, run: "Stop",
		breaks: "a stopped timer is noticed, and then deadlines count",
		from:   ` || c.own == nil && c.alarm.stopped()`,
	},
	{
		file: "cache/set.go", tests: []string{"./cache"}, run: "Overtake|Fetch",
		breaks: "a fetched value is not stored after a Set",
		from: `		default:
			c.flights.overtake(key) // (C5)
`,
	},
	{
		file: "cache/delete.go", tests: []string{"./cache"}, run: "Overtake|Fetch",
		breaks: "a fetched value is not stored after a Delete",
		from: `		c.flights.overtake(key) // (C5)
		if !known {`,
		to: `		if !known {`,
	},
	{
		file: "cache/delete.go", tests: []string{"./cache"}, run: "Overtake|Fetch",
		breaks: "a fetched value is not stored after a Clear",
		from: `	c.flights.overtakeAll() // Linearization point of Clear.
`,
	},
	{
		file: "cache/set.go", tests: []string{"./cache"},
		breaks: "C4: an entry that is due sooner is reinserted",
		from:   `	if deadline >= old.deadline {`,
		to:     `	if deadline >= 0 {`,
	},
	{
		file: "cache/set.go", tests: []string{"./cache"},
		breaks: "jitter only shortens",
		from:   `	return ttl - time`,
		to:     `	return ttl + time`,
	},
	{
		file: "cache/expire.go", tests: []string{"./cache"},
		breaks: "C4: an entry that was postponed is reinserted",
		from:   `s.reinsert(r.slot(), due)`,
		to:     `_ = due`,
	},
	{
		file: "cache/expire.go", tests: []string{"./cache"}, run: "Late",
		breaks: "C3: an expiry ends no other entry than its own",
		from: `		if !known || it.ref != r {
			return it, xsync.CancelOp // it has ended (C3)`,
		to: `		if !known {
			return it, xsync.CancelOp // it has ended (C3)`,
	},
	{
		file: "cache/slots.go", tests: []string{"./cache"}, run: "Late|Slot",
		breaks: "C3: a slot that was freed has another generation",
		from: `	at.gen++
`,
	},
	{
		file: "cache/slots.go", tests: []string{"./cache"}, run: "Ref",
		breaks: "C3: the slots of a dropped chunk come back with another generation",
		from: `			c.gen = max(c.gen, c.slots[j].gen)
`,
		to: `			c.gen = min(c.gen, c.slots[j].gen)
`,
	},
	{
		file: "cache/slots.go", tests: []string{"./cache"}, run: "Removed|Ref",
		breaks: "removed entries give their memory back",
		from: `		s.trim()
`,
	},
	{
		file: "cache/delete.go", tests: []string{"./cache"}, run: "Removed",
		breaks: "Clear lets the map shrink",
		from:   `		if len(last) < lastKeys {`,
		to:     `		if len(last) < 0 {`,
	},
	{
		file: "cache/sieve.go", tests: []string{"./cache"},
		breaks: "a new entry is not evicted for itself",
		from:   `if n != keep && !u.used.Load() {`,
		to:     `if !u.used.Load() {`,
	},
	{
		file: "cache/alarm.go", tests: []string{"./cache"},
		breaks: "an alarm that went off is armed again",
		from:   `	a.due.Store(never) // What`,
		to:     `	// What`,
	},
	{
		file: "cache/fetch.go", tests: []string{"./cache"}, run: "Waiter",
		breaks: "a canceled fetch is joined by no caller",
		from: `			c.flights.finish(key, f) // so that later calls start another
`,
	},
	{
		file: "cache/fetch.go", tests: []string{"./cache"}, run: "Waiter|Context",
		breaks: "a waiter that gives up cancels no other",
		from:   `f.waiters--; f.waiters == 0`,
		to:     `f.waiters--; true`,
	},
	{
		file: "cache/fetch.go", tests: []string{"./cache"}, run: "OwnKey",
		breaks: "a fetch of its own key ends with an error",
		from:   `if ctx.Value(f) != nil {`,
		to:     `if false {`,
	},
	{
		file: "cache/set.go", tests: []string{"./cache"}, run: "DeleteFunc|Linear",
		breaks: "C6: DeleteFunc keeps a value that was set meanwhile",
		from:   ` && c.deleters.Load() == 0`,
	},
	{
		file: "cache/delete.go", tests: []string{"./cache"}, run: "DeleteFunc",
		breaks: "a fetched value is not stored after a DeleteFunc",
		from: `	c.flights.overtakeAll()
	c.items.Range`,
		to: `	c.items.Range`,
	},
	{
		file: "cache/set.go", tests: []string{"./cache"}, run: "Load",
		breaks: "a loaded value overtakes no fetch",
		from: `		case w.loaded:
`,
	},
	{
		file: "cache/set.go", tests: []string{"./cache"}, run: "Load",
		breaks: "a loaded entry keeps its deadline",
		from:   `ttl, idle = w.ttl, min(w.idle, idle)`,
		to:     `idle = min(w.idle, idle)`,
	},
	{
		file: "cache/save.go", tests: []string{"./cache"}, run: "Malformed",
		breaks: "a shortened file is rejected",
		from:   `if entries != len(l.entries) {`,
		to:     `if false {`,
	},
}
