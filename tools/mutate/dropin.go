package main

// dropins break the packages that stand in for time and context, and what
// package clock does for them.
var dropins = []mutant{
	{
		file: "dropin/internal/shared/shared.go", tests: []string{"./dropin/..."},
		breaks: "bubbles have package time",
		from:   `	if enginekit.InBubble() {`,
		to:     `	if enginekit.InBubble() && false {`,
	},
	{
		file: "dropin/internal/shared/shared.go", tests: []string{"./dropin/..."},
		breaks: "a panic in AfterFunc's function ends the program",
		from:   `PanicsEndProgram: true, `,
	},
	{
		file: "dropin/internal/shared/shared.go", tests: []string{"./dropin/..."},
		breaks: "short delays are package time's",
		from:   `RuntimeBelow: 2 * tick`,
		to:     `RuntimeBelow: 0 * tick`,
	},
	{
		file: "dropin/internal/shared/shared.go", tests: []string{"./dropin/..."},
		breaks: "Use comes before the first timer",
		from:   `	if current.Load() != nil {`,
		to:     `	if false {`,
	},
	{
		file: "dropin/time/std.go", tests: []string{"./dropin/time"},
		breaks: "every exported name of package time is there",
		from: `
// UnixMicro calls [time.UnixMicro].
func UnixMicro(usec int64) Time { return time.UnixMicro(usec) }
`,
	},
	{
		file: "clock/clock.go", tests: []string{"./clock"}, run: "ShortDelays|TimerMoves",
		breaks: "a timer that is reset across RuntimeBelow moves",
		from:   `c.options.RuntimeBelow == 0 || runtime == (d < c.options.RuntimeBelow)`,
		to:     `runtime || !runtime`,
	},
	{
		file: "clock/sleep.go", tests: []string{"./clock"}, run: "ShortDelays",
		breaks: "a short sleep is over when its delay is",
		from:   `		time.Sleep(d)`,
		to:     `		time.Sleep(2 * d)`,
	},
}
