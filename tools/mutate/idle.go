package main

// idles breaks closing of idle connections.
var idles = []mutant{
	{
		file: "idle/state.go", tests: []string{"./idle"},
		breaks: "a watch that has ended stays ended",
		from:   `if last < 0 || last >= now {`,
		to:     `if last >= now {`,
	},
	{
		file: "idle/group.go", tests: []string{"./idle"},
		breaks: "nothing is closed before its timeout",
		from:   `		case at > now:`,
		to:     `		case at > now+1:`,
	},
	{
		file: "idle/group.go", tests: []string{"./idle"},
		breaks: "an earlier deadline moves the alarm of the group",
		from:   `	case at < g.due:`,
		to:     `	case at < g.due && at < 0:`,
	},
	{
		file: "idle/watch.go", tests: []string{"./idle"},
		breaks: "a hold that has begun keeps the watch",
		from: `	w.holds.Add(1)
	w.Touch()`,
		to: `	w.holds.Add(1)`,
	},
	{
		file: "idle/watch.go", tests: []string{"./idle"},
		breaks: "the whole timeout follows the release of a hold",
		from: `			w.Touch()
			w.holds.Add(-1)`,
		to: `			w.holds.Add(-1)`,
	},
	{
		file: "idle/watch.go", tests: []string{"./idle"},
		breaks: "a hold does not excuse a peer that does not read",
		from:   `w.holds.Load() > 0 && !(`,
		to:     `w.holds.Load() > 0 && !(false && `,
	},
	{
		file: "idle/conn.go", tests: []string{"./idle"},
		breaks: "a write after a long hold has the whole timeout",
		from:   `	if c.watch.holds.Load() > 0 {`,
		to:     `	if false {`,
	},
	{
		file: "idle/buffers.go", tests: []string{"./idle"},
		breaks: "buffers keep what was not written",
		from:   `	all[whole] = cut[limit-left:]`,
		to:     `	all[whole] = cut[limit-0*left:]`,
	},
	{
		file: "idle/ready_linux.go", tests: []string{"./idle"},
		breaks: "io.Copy returns errors as package net does",
		from:   `		return 0, r.opError()`,
		to:     `		return 0, r.err`,
	},
	{
		file: "idle/shard.go", tests: []string{"./idle"},
		breaks: "a closed reaper reports what it does not watch",
		from:   `		if w.Err() == nil {`,
		to:     `		if false {`,
	},
	{
		file: "idle/idlehttp/idlehttp.go", tests: []string{"./idle/idlehttp"},
		breaks: "a hijacked connection is not held",
		from:   `state == http.StateHijacked || state`,
		to:     `state`,
	},
}
