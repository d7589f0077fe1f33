package main

// leaks breaks the leak detector.
var leaks = []mutant{
	{
		file: "leak/notify.go", tests: []string{"./leak"},
		breaks: "equal leaks are reported once",
		from: `	c.reported[hash] = struct{}{}
`,
	},
	{
		file: "leak/notify.go", tests: []string{"./leak"},
		breaks: "a panic of the listener does not escape",
		from:   `usercode.Run(func() { c.options.Listener(r) }, func(err error) {`,
		to:     `c.options.Listener(r); _ = usercode.Run; _ = (func(err error) {`,
	},
	{
		file: "leak/detector.go", tests: []string{"./leak"},
		breaks: "at LevelDisabled no resource is watched",
		from: `	case level == LevelDisabled:
		return false
`,
	},
	{
		file: "leak/scope.go", tests: []string{"./leak"}, run: "TestScope",
		breaks: "a test scope checks after the test's own cleanups",
		from: `	t.Cleanup(func() {
		t.Helper()
		scope.Check(t)
	})`,
		to: `	scope.Check(t)`,
	},
	{
		file: "leak/detector.go", tests: []string{"./leak"}, run: "Option",
		breaks: "an option outside its range is not taken in silence",
		from: `		panic(err)
`,
	},
}
