package main

var storetest = []string{"./storetest"}

// durables breaks the promises of package durable.
var durables = []mutant{
	{
		file: "durable/claim.go", module: "durable/embedded", tests: storetest, run: "TestAClockSetBackMakesNothingEarly",
		breaks: "a durable timer is never early",
		from: `	if wait := l.untilDue(); wait > 0 { // the clock was set back
`,
		to: `	if wait := l.untilDue(); wait > 1<<40 { // the clock was set back
`,
	},
	{
		file: "durable/claim.go", module: "durable/embedded", tests: storetest, run: "TestTheFirstFateWins",
		breaks: "a durable timer is claimed by compare-and-set",
		from: `	l.worker.store.firstFate(l.v.id).set(msg.Header)
	return msg
`,
		to: `	return msg
`,
	},
	{
		file: "durable/cancel.go", module: "durable/embedded", tests: storetest, run: "TestTheFirstFateWins",
		breaks: "a durable timer is cancelled by compare-and-set",
		from: `	c.set(msg.Header)
`,
		to: ``,
	},
	{
		file: "durable/fence.go", module: "durable/embedded", tests: storetest, run: "TestAPausedWorkerFiresNothingTwice",
		breaks: "a durable timer does not fire after its lease",
		from:   `return s.leaseTime() - s.since(m)`,
		to:     `return s.leaseTime() - 0*s.since(m)`,
	},
	{
		file: "durable/handle.go", module: "durable/embedded", tests: storetest, run: "TestAKilledWorkersTimersFire",
		breaks: "a durable timer is acknowledged after its handler",
		from: `	usercode.Run(
		func() { err = w.handler(ctx, f) },
`,
		to: `	l.acknowledge()
	usercode.Run(
		func() { err = w.handler(ctx, f) },
`,
	},
	{
		file: "durable/handle.go", module: "durable/embedded", tests: storetest, run: "TestAFailureIsRetriedWithTheSameID",
		breaks: "a durable timer has one ID in all attempts",
		from: `	next.first = l.v.origin()
`,
		to: ``,
	},
	{
		file: "durable/state.go", module: "durable/embedded", tests: storetest, run: "TestARecurringTimerIsPendingAtAnyTime",
		breaks: "a recurring durable timer is pending while an occurrence is claimed",
		from:   ` || st.v.every.isZero() || st.seq == seen {`,
		to:     ` || seen == 0 {`,
	},
	{
		file: "durable/every.go", module: "durable", tests: []string{"."}, run: "TestAScheduleThatStandsStillIsBroken",
		breaks: "a schedule that stands still is given up",
		from:   `!next.After(t) {`,
		to:     `next.Before(t) {`,
	},
	{
		file: "durable/audit.go", module: "durable/embedded", tests: storetest, run: "TestAFullStore",
		breaks: "a durable timer that the server failed to hand out is set free",
		from: `		if by < int64(overdue) {
`,
		to: `		if by < 1000*int64(overdue) {
`,
	},
	{
		file: "durable/set.go", module: "durable/embedded", tests: storetest, run: "TestAStoreThatIsNearlyFull",
		breaks: "a full durable store refuses timers",
		from: `	return s.guard.admit()
}
`,
		to: `	return nil
}
`,
	},
	{
		file: "durable/store.go", module: "durable/embedded", tests: storetest, run: "TestNothingIsLeftAfterClose",
		breaks: "a closed durable store leaves nothing",
		from: `	s.publish.close()
`,
		to: ``,
	},
	{
		file: "durable/drain.go", module: "durable/embedded", tests: storetest, run: "TestADrainedWorker",
		breaks: "a durable worker that ends hands back what it has not claimed",
		from: `		w.handBack(l, time.Millisecond)
`,
		to: `		w.release(l)
		time.Now()
`,
	},
	{
		file: "durable/streams.go", module: "durable/embedded", tests: storetest, run: "TestAStream",
		breaks: "a durable store leaves foreign streams alone",
		from:   `	if c.MaxBytes > 0 || c.MaxMsgs > 0 ||`,
		to:     `	if c.MaxBytes > 0 ||`,
	},
}
