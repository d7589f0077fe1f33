package main

// guards breaks the ground rules of the engine, each under the name it has there.
var guards = []mutant{
	{
		file: "internal/engine/state.go", tests: engine, run: "Racing|Linear|TestCancelReset",
		breaks: "L1: Cancel compares before it stores",
		from:   `if atomic.CompareAndSwapInt64(l, w, ^(w | cancelled)) {`,
		to:     `if atomic.StoreInt64(l, ^(w | cancelled)); true {`,
	},
	{
		file: "internal/engine/state.go", tests: engine, run: "Racing|Linear|TestCancelReset",
		breaks: "L1: expiry compares before it stores",
		from:   `if atomic.CompareAndSwapInt64(l, w, ^(w &^ queued)) {`,
		to:     `if atomic.StoreInt64(l, ^(w &^ queued)); true {`,
	},
	{
		file: "internal/engine/state.go", tests: engine, run: "Racing|Linear|TestCancelReset",
		breaks: "L1: Reset compares before it stores",
		from:   `if atomic.CompareAndSwapInt64(l, w, next) {`,
		to:     `if atomic.StoreInt64(l, next); true {`,
	},
	{
		file: "internal/engine/drain.go", tests: engine, run: "InsertsIsSeen",
		breaks: "L3: queued is cleared before the word is acted on",
		from:   `batch = append(batch, c.moveOf(t, dequeue(&t.state)))`,
		to: `batch = append(batch, c.moveOf(t, atomic.LoadInt64(&t.state)))
			defer dequeue(&t.state)`,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "TestFirstCallers",
		breaks: "W1: one Stop is the first",
		from:   `	if h.stopping.CompareAndSwap(false, true) {`,
		to: `	if !h.stopping.Load() {
		h.stopping.Store(true)`,
	},
	{
		file: "internal/engine/worker.go", tests: engine, run: "Relieved",
		breaks: "W6: a worker that was relieved before it began runs nothing",
		from: `	if c.sleeper.Load() != s {
		return false
	}
	c.workerID`,
		to: `	c.workerID`,
	},
	{
		file: "internal/engine/fire.go", tests: engine, run: "NotHeld",
		breaks: "a notice that ends its goroutine is not held",
		from: `			c.dropped(1) // first, since the notice may end the goroutine
			c.runner.Cancelled(c.notices[i], c.notices[i].task)
`,
		to: `			c.runner.Cancelled(c.notices[i], c.notices[i].task)
			c.dropped(1)
`,
	},
	{
		file: "internal/engine/batch.go", tests: engine, run: "InProportion",
		breaks: "a batch helps in proportion to its size",
		from:   `left -= assistLen {`,
		to: `left-- {
			left++`,
	},
	{
		file: "internal/engine/worker.go", tests: hashed, run: "TestContract/wheel=8/Bubbles",
		breaks: "Cancel works outside the bubble",
		from:   ` && !c.clock.Foreign() {`,
		to:     ` {`,
	},
	{
		file: "hashedwheel/wheel.go", tests: hashed, run: "LongWheel",
		breaks: "a search never goes back before what was known",
		from:   `max(w.next, w.search())`,
		to:     `w.search()`,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "Worker|Refus",
		breaks: "a Stop in a task waits for no other worker",
		from:   `if h.workers[i].core.isWorker(id) {`,
		to:     `if i == 0 && h.workers[i].core.isWorker(id) {`,
	},
	{
		file: "internal/engine/handle.go", tests: engine, run: "Worker|Refus",
		breaks: "S3: after a refusal nothing is accepted",
		from: `		h.close()
`,
	},
	{
		file: "internal/engine/handle.go", tests: engine, run: "Worker|Refus",
		breaks: "timeouts are spread over the workers",
		from:   `if n := len(h.workers); n > 1 {`,
		to:     `if n := len(h.workers); n > 1000 {`,
	},
	{
		file: "internal/engine/handle.go", tests: engine, run: "Worker|Refus",
		breaks: "Start starts all workers",
		from: `c.phase.Load() == unstarted {
			c.wakeWorker()`,
		to: `i == 0 && c.phase.Load() == unstarted {
			c.wakeWorker()`,
	},
	{
		file: "internal/engine/cleanup.go", tests: engine, run: "Worker|Refus",
		breaks: "all workers of a dropped timer end",
		from:   `	for _, c := range cores {`,
		to:     `	for _, c := range cores[:1] {`,
	},
	{
		file: "internal/engine/worker.go", tests: engine, run: "TestASecondCaller",
		breaks: "W1: one caller starts the worker",
		from:   `	case c.phase.CompareAndSwap(unstarted, ticking):`,
		to:     `	case c.phase.Swap(ticking) != stopped:`,
	},
	{
		file: "internal/engine/worker.go", tests: engine, run: "Relies|Alarm",
		breaks: "W2: a sleeping worker's alarm is set later only if no caller relies on it",
		from:   `		if !c.intake.empty() { // its caller`,
		to:     `		if c.wheel == nil { // its caller`,
	},
	{
		file: "internal/engine/sleeper.go", tests: engine, run: "Relieved",
		breaks: "W6: a worker in a task is not relieved",
		from:   ` || !c.sleeping || `,
		to:     ` || `,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "Unstarted",
		breaks: "Stop ends a timer that never had a worker",
		from:   `if before[i] == unstarted {`,
		to:     `if before[i] == stopped {`,
	},
	{
		file: "internal/engine/sleeper.go", tests: engine, run: "Wakings|Traffic",
		breaks: "W3: a token wakes the worker",
		from: `	case s.token <- struct{}{}:
`,
		to: `	case make(chan struct{}, 1) <- struct{}{}:
`,
	},
	{
		file: "internal/engine/worker.go", tests: engine, run: "UnderTheLock",
		breaks: "W4: a step has the wheel to itself",
		from: `	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sleeper.Load() != s {
		return relieved`,
		to: `	if c.sleeper.Load() != s {
		return relieved`,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "UnderTheLock",
		breaks: "W4: Stop has the wheel to itself",
		from: `	c.mu.Lock()
	defer c.mu.Unlock()
	before := len`,
		to: `	before := len`,
	},
	{
		file: "internal/engine/fire.go", tests: engine, run: "UnderTheLock",
		breaks: "W4: what goes back to the wheel does so under the lock",
		from: `		c.reinsert()
`,
		to: `		c.mu.Unlock()
		c.reinsert()
		c.mu.Lock()
`,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "LeavesDue",
		breaks: "W5: while the worker fires, due stays",
		from: `	if !c.running {
		c.due = nil
	}`,
		to: `	c.due = nil`,
	},
	{
		file: "internal/engine/fire.go", tests: engine, run: "Goexit|Lag",
		breaks: "W5: what is due is fired",
		from: `	c.running = true
`,
	},
	{
		file: "internal/engine/worker.go", tests: engine, run: "ARound|Reinserted",
		breaks: "a tick that has expired takes no more timeouts",
		from:   `	c.earliest = c.tick + 1`,
		to:     `	c.earliest = c.tick`,
	},
	{
		file: "internal/engine/core.go", tests: engine, run: "PushToCome",
		breaks: "L2: the pusher attends for those who relied on it",
		from:   `c.attend(s, settleBy(atomic.LoadInt64(&t.state)))`,
		to:     `c.attend(s, deadline)`,
	},
	{
		file: "internal/engine/state.go", tests: engine, run: "PushToCome",
		breaks: "L2: a cancelled timeout in a queue is settled soon",
		from: `	if ended(w) {
		return noDeadline
	}
	return deadlineOf(w)`,
		to: `	return deadlineOf(w)`,
	},
	{
		file: "internal/engine/worker.go", tests: engine, run: "CameSince",
		breaks: "the worker gives the notices before it sleeps",
		from:   ` || len(c.nextNotices) > 0 {`,
		to:     ` {`,
	},
	{
		file: "internal/engine/intake.go", tests: engine, run: "Stripe",
		breaks: "S1: the worker looks at every stripe before it sleeps",
		from: `	for i := range in.stripes {
		if s := &in.stripes[i]; !s`,
		to: `	for i := range in.stripes[1:] {
		if s := &in.stripes[i]; !s`,
	},
	{
		file: "internal/engine/intake.go", tests: engine, run: "Negative",
		breaks: "S2: the ends are summed first",
		from: `	for i := range in.stripes {
		cancelled += in.stripes[i].cancelled.Load() + in.stripes[i].removed.Load()
	}
	for i := range in.stripes {
		accepted += in.stripes[i].accepted.Load()
	}
`,
		to: `	for i := range in.stripes {
		accepted += in.stripes[i].accepted.Load()
	}
	for i := range in.stripes {
		cancelled += in.stripes[i].cancelled.Load() + in.stripes[i].removed.Load()
	}
`,
	},
	{
		file: "internal/engine/drain.go", tests: engine, run: "TransferCap",
		breaks: "a tick transfers no more than its cap",
		from:   `budget{room: TransferCap, until: until}`,
		to:     `budget{room: TransferCap + 1, until: until}`,
	},
	{
		file: "internal/engine/drain.go", tests: engine, run: "Cancel|Notice|Goexit",
		breaks: "a cancel before the transfer is noticed",
		from:   `ended(atomic.LoadInt64(&t.state)) && !enginekit.WantsCancelled(t.task)`,
		to:     `ended(atomic.LoadInt64(&t.state)) && !enginekit.WantsCancelled(nil)`,
	},
	{
		file: "internal/engine/drain.go", tests: engine, run: "Drain",
		breaks: "draining ends with its tick",
		from: `c.now() >= b.until {
		b.spent = true`,
		to: `c.now() >= b.until {
		b.spent = false`,
	},
	{
		file: "internal/engine/drain.go", tests: engine, run: "Drain",
		breaks: "a worker that is behind settles some all the same",
		from:   ` && b.popped > popAtLeast && c.now`,
		to:     ` && c.now`,
	},
	{
		file: "internal/engine/drain.go", tests: engine, run: "Starve",
		breaks: "what was changed has a share of its own",
		from:   `c.settleChanged(&stripes[(d.turn+i)&(len(stripes)-1)], &changed)`,
		to:     `c.settleChanged(&stripes[(d.turn+i)&(len(stripes)-1)], &added)`,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "SecondStop",
		breaks: "a second Stop waits until all is taken",
		from:   `		<-h.workers[i].core.takenOver // another`,
		to:     `		_ = i // another`,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "LateNotices",
		breaks: "the worker gives the last notices when all is taken, not before",
		from: `	<-c.takenOver // Stop waits for nothing until then
`,
	},
	{
		file: "internal/engine/stop.go", tests: engine, run: "Notice|Late",
		breaks: "the worker says that it takes no more notices",
		from:   `	c.noticesClosed = !c.running`,
		to:     `	c.noticesClosed = false`,
	},
	{
		file: "internal/engine/watchdog.go", tests: engine, run: "Slow|Fast|Look",
		breaks: "no task is slow that holds the worker for less than the threshold",
		from:   `now-w.since >= w.threshold &&`,
		to:     `now-w.since >= w.threshold/2 &&`,
	},
	{
		file: "internal/engine/watchdog.go", tests: engine, run: "Slow|Fast|Look",
		breaks: "a worker that has yet to begin is in no slow task",
		from:   `spot != w.spot || spot.position == 0 {`,
		to:     `spot != w.spot {`,
	},
	{
		file: "internal/engine/watchdog.go", tests: engine, run: "Slow|Fast|Look",
		breaks: "slow tasks are logged once a minute",
		from:   `now-w.loggedAt >= int64(slowLogEvery)`,
		to:     `now-w.loggedAt >= 0`,
	},
	{
		file: "internal/engine/watchdog.go", tests: engine, run: "WantOf",
		breaks: "a worker that waits for a processor is in no slow task",
		from:   `for range secondLookAfter {`,
		to:     `for range 0 {`,
	},
	{
		file: "internal/engine/pace.go", tests: engine, run: "FromABubble",
		breaks: "W7: a caller with another clock leaves the wheel where it is",
		from:   ` || !resting || c.clock.Apart() {`,
		to:     ` || !resting || c.clock.Foreign() {`,
	},
	{
		file: "internal/engine/pace.go", tests: engine, run: "FromABubble",
		breaks: "W7: a caller with another clock leaves the alarm as it is",
		from:   ` || c.clock.Apart(): // the alarm`,
		to:     `: // the alarm`,
	},
	{
		file: "internal/engine/worker.go", tests: engine, run: "FromABubble",
		breaks: "W7: a caller with another clock wakes the worker by its token",
		from: `	case c.clock.Apart(): // (W7)
`,
		to: `	case c.clock.Foreign():
`,
	},
	{
		file: "internal/engine/stop.go", tests: hashed, run: "Contract/.*/Bubbles",
		breaks: "Stop does not wait where no clock limits the wait",
		from:   `s.wait <= 0 || s.clock.Apart()`,
		to:     `s.wait <= 0`,
	},
}
