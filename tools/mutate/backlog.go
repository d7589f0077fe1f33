package main

// backlogs breaks how workers and callers cope with more than a worker settles.
var backlogs = []mutant{
	{
		file: "internal/engine/settle.go", tests: engine, run: "LeavesAlone",
		breaks: "W5: what is due stays there until firing ends",
		from: `	case t.place() != inDue:
`,
		to: `	default:
`,
	},
	{
		file: "internal/engine/pace.go", tests: engine, run: "Bounded",
		breaks: "P1: a stripe is bounded",
		from:   `	case s.backlog() > maxBacklog/2:`,
		to:     `	case s.backlog() > 1<<40:`,
	},
	{
		file: "internal/engine/pace.go", tests: engine, run: "Assist",
		breaks: "callers assist a worker that is late",
		from:   `	case !c.clock.Apart() && c.now() >= c.assistFrom.Load():`,
		to:     `	case c.now() < 0:`,
	},
	{
		file: "internal/engine/sleeper.go", tests: engine, run: "Relieved",
		breaks: "a worker that does not get to run is relieved",
		from:   `|| c.now() < c.expected ||`,
		to:     `|| c.now() > 0 ||`,
	},
	{
		file: "internal/engine/held.go", tests: engine, run: "Bounded",
		breaks: "what a timer with a limit holds is bounded",
		from: `			h.workers[i].core.settleAll()
`,
		to: ``,
	},
	{
		file: "internal/engine/drain.go", tests: engine, run: "Turn",
		breaks: "each stripe comes first in its turn",
		from: `	d.turn++
`,
		to: ``,
	},
	{
		file: "internal/engine/worker.go", tests: engine, run: "MaxLag",
		breaks: "the lag counts from when the worker meant to look",
		from:   `now - min(c.expected, c.tick*c.tickDur)`,
		to:     `now - c.tick*c.tickDur`,
	},
	{
		file: "internal/engine/worker.go", tests: engine, run: "Rounds|Rest",
		breaks: "what is left over is settled within the tick",
		from:   `if c.running || !d.complete {`,
		to:     `if c.running {`,
	},
}
