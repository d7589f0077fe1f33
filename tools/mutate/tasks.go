package main

// tasks breaks the isolation of users' code.
var tasks = []mutant{
	{
		file: "internal/usercode/usercode.go", tests: []string{"./internal/usercode"},
		breaks: "a panic is not a Goexit",
		from:   `if v := recover(); v != nil {`,
		to:     `if v := error(nil); v != nil {`,
	},
	{
		file: "internal/usercode/usercode.go", tests: []string{"./internal/usercode"},
		breaks: "a function that returned is not broken",
		from: `	returned = true
`,
		to: ``,
	},
	{
		file: "internal/enginekit/runner.go", tests: []string{"./internal/enginekit"},
		breaks: "a task's panic ends nothing",
		from:   `	defer usercode.Catch(&returned, func(err error) { r.broken(timeout, err) })`,
		to:     `	defer func() { _ = returned }()`,
	},
	{
		file: "internal/enginekit/runner.go", tests: []string{"./internal/enginekit"},
		breaks: "a callback's panic ends nothing",
		from:   `usercode.Run(func() { task.Cancelled(timeout) }, func(err error) { r.broken(timeout, err) })`,
		to:     `task.Cancelled(timeout)`,
	},
	{
		file: "internal/enginekit/runner.go", tests: []string{"./internal/enginekit"},
		breaks: "an executor's panic ends nothing",
		from:   `usercode.Run(func() { err = r.Executor.Execute(s.run) }, func(err error) {`,
		to:     `err = r.Executor.Execute(s.run); _ = (func(err error) {`,
	},
	{
		file: "internal/enginekit/runner.go", tests: []string{"./internal/enginekit"},
		breaks: "an error handler's panic ends nothing",
		from:   `usercode.Run(func() { r.OnError(timeout, err) }, func(broken error) {`,
		to:     `r.OnError(timeout, err); _ = (func(broken error) {`,
	},
	{
		file: "internal/enginekit/runner.go", tests: []string{"./internal/enginekit"},
		breaks: "a log that panics ends nothing",
		from:   `defer func() { _ = recover() }() // there is nowhere`,
		to:     `// there is nowhere`,
	},
	{
		file: "internal/enginekit/runner.go", tests: []string{"./internal/enginekit"},
		breaks: "a refusal of the executor is reported",
		from:   `		r.report(timeout, refused(fmt.Errorf("hwt: executor refused the task: %w", err)))`,
		to:     `		refused(fmt.Errorf("hwt: executor refused the task: %w", err))`,
	},
	{
		file: "internal/enginekit/runner.go", tests: []string{"./internal/enginekit"},
		breaks: "a task hears that the executor refused it",
		from:   `if t, ok := task.(hwt.RefusedTask); ok {`,
		to:     `if t, ok := task.(hwt.RefusedTask); ok && err == nil {`,
	},
	{
		file: "internal/enginekit/runner.go", tests: []string{"./internal/enginekit"},
		breaks: "a panic of Refused is isolated",
		from:   `usercode.Run(func() { err = t.Refused(timeout, err) }, func(err error) { r.broken(timeout, err) })`,
		to:     `err = t.Refused(timeout, err)`,
	},
}
