package hwttest_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// These tests run programs: several goroutines use one engine, in rounds. A round begins
// for all of them at one instant of fake time, at which a timeout often expires as well,
// so the order of operations is open. Each call is recorded with its place among all calls
// and returns, and program_check_test.go judges the record afterwards.

// program is a list of rounds.
type program []round

type round struct {
	actors [][]step      // the steps of each goroutine
	wait   time.Duration // until the next round
}

// step is one operation. The meaning of its fields depends on op.
type step struct {
	op    action
	which int           // index of a known timeout, counted back from the last
	delay time.Duration // of schedule, batch, and reset
	then  *step         // schedule: an operation for the task; list: one for the loop's body
	inner bool          // done by a task
}

type action int

const (
	schedule action = iota
	cancel
	reset
	stop
	shutdown
	batch
	list
)

var actionNames = [...]string{"NewTimeout", "Cancel", "Reset", "Stop", "Shutdown", "NewTimeouts", "All"}

// batchSize is large enough that All releases the lock within a loop over two batches.
const batchSize = 20

// moment is the time of a call and of its return, and their places in the order of all
// calls and returns.
type moment struct {
	called, returned     time.Duration
	callOrder, doneOrder int64
}

// call is a call and its outcome.
type call struct {
	moment
	op          action
	deadline    time.Duration // NewTimeout, Reset
	ok          bool          // Cancel and Reset: the result; NewTimeout: accepted
	err         error         // NewTimeout, Shutdown
	unprocessed []hwt.Timeout // Stop, Shutdown; All: the yielded timeouts
	inner       bool          // made by a task
}

// deed is a task, and the record of its timeout.
type deed struct {
	p    *performance
	then *step

	timeout  hwt.Timeout // Guarded by p.mu.
	calls    []call      // NewTimeout, Cancel, Reset. Guarded by p.mu.
	runs     []moment    // Guarded by p.mu.
	notified int         // Guarded by p.mu.
}

func (d *deed) Run(hwt.Timeout) error {
	m := d.p.begin()
	d.p.mu.Lock()
	d.runs = append(d.runs, m)
	d.p.mu.Unlock()
	if d.then != nil {
		then := *d.then
		then.inner = true
		d.p.do(then)
	}
	return nil
}

// notifiable is a deed that is notified of its cancellation.
type notifiable struct{ *deed }

func (d notifiable) Cancelled(hwt.Timeout) {
	d.p.mu.Lock()
	defer d.p.mu.Unlock()
	d.notified++
}

// performance is one run of a program.
type performance struct {
	engine hwt.Engine
	tick   time.Duration // 0 for an engine without ticks
	start  time.Time
	order  atomic.Int64

	mu    sync.Mutex // never held in a call of the engine
	deeds []*deed    // Guarded by mu. Includes rejected ones.
	stops []call     // Guarded by mu.
	lists []call     // Guarded by mu.
	wrong []string   // Guarded by mu.
}

func (p *performance) now() time.Duration { return time.Since(p.start) }

func (p *performance) begin() moment {
	return moment{called: p.now(), callOrder: p.order.Add(1)}
}

func (m *moment) end(p *performance) {
	m.doneOrder = p.order.Add(1)
	m.returned = p.now()
}

func (p *performance) fault(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

// do does one step, from any goroutine.
func (p *performance) do(s step) {
	switch s.op {
	case schedule:
		p.schedule(s)
	case stop, shutdown:
		p.stop(s)
	case batch:
		p.batch(s)
	case list:
		p.list(s)
	default:
		if d := p.known(s.which); d != nil {
			p.randomOp(s, d)
		}
	}
}

func (p *performance) schedule(s step) {
	d := &deed{p: p, then: s.then}
	var task hwt.TimerTask = d
	if s.which%2 == 0 {
		task = notifiable{d}
	}
	c := call{op: schedule, moment: p.begin()}
	c.deadline = after(c.called, s.delay)
	timeout, err := p.engine.NewTimeout(task, s.delay)
	c.end(p)
	c.ok, c.err = err == nil, err
	p.mu.Lock()
	defer p.mu.Unlock()
	d.timeout = timeout
	d.calls = append(d.calls, c)
	p.deeds = append(p.deeds, d)
}

// known returns a deed by its index, counted back from the last. It returns nil if there
// are no deeds, or if the timeout was rejected.
func (p *performance) known(which int) *deed {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.deeds) == 0 {
		return nil
	}
	d := p.deeds[len(p.deeds)-1-which%len(p.deeds)]
	if d.timeout == nil {
		return nil
	}
	return d
}

func (p *performance) randomOp(s step, d *deed) {
	c := call{op: s.op, moment: p.begin()}
	if s.op == cancel {
		c.ok = d.timeout.Cancel()
	} else {
		c.deadline = after(c.called, s.delay)
		c.ok = d.timeout.Reset(s.delay)
	}
	c.end(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	d.calls = append(d.calls, c)
}

// batch schedules batchSize tasks with NewTimeouts, and records the call for each.
func (p *performance) batch(s step) {
	var deeds []*deed
	var tasks []hwt.TimerTask
	for range batchSize {
		d := &deed{p: p, then: s.then}
		deeds, tasks = append(deeds, d), append(tasks, d)
	}
	c := call{op: schedule, moment: p.begin()}
	c.deadline = after(c.called, s.delay)
	timeouts, err := p.engine.NewTimeouts(tasks, s.delay)
	c.end(p)
	c.ok, c.err = err == nil, err
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, d := range deeds {
		if err == nil {
			d.timeout = timeouts[i]
		}
		d.calls = append(d.calls, c)
	}
	p.deeds = append(p.deeds, deeds...)
}

// list loops over the pending timeouts. After some of them, it sleeps and does step then.
func (p *performance) list(s step) {
	c := call{op: list, moment: p.begin()}
	for timeout := range p.engine.All() {
		c.unprocessed = append(c.unprocessed, timeout)
		if n := len(c.unprocessed); n == 1+s.which && s.then != nil {
			time.Sleep(min(max(s.delay, 0), 20*programTick))
			then := *s.then
			then.inner = s.inner
			p.do(then)
		}
	}
	c.end(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lists = append(p.lists, c)
}

func (p *performance) stop(s step) {
	c := call{op: s.op, moment: p.begin(), inner: s.inner}
	if s.op == stop {
		c.unprocessed = p.engine.Stop()
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		c.unprocessed, c.err = p.engine.Shutdown(ctx)
		cancel()
	}
	c.end(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stops = append(p.stops, c)
}

// after returns the deadline of a delay that begins now.
func after(now, delay time.Duration) time.Duration {
	return now + min(max(delay, 0), beyond-now)
}

// act does the steps of one actor in all rounds.
func (p *performance) act(all program, actor int) {
	var meet time.Duration
	for _, r := range all {
		for _, s := range r.actors[actor] {
			p.do(s)
		}
		meet += r.wait
		time.Sleep(meet - p.now())
	}
}

// perform runs a program on a new engine in a new bubble, and returns the faults found.
func perform(t *testing.T, on performer, all program, actors int) (wrong []string) {
	enginetest.Bubble(t, func(t *testing.T) {
		p := &performance{start: time.Now(), tick: on.tick, engine: on.open(t)}
		var done sync.WaitGroup
		for actor := range actors {
			done.Go(func() { p.act(all, actor) })
		}
		done.Wait()
		time.Sleep(programTick)
		synctest.Wait()
		p.compareCounts()
		p.stop(step{op: stop})
		time.Sleep(time.Hour)
		synctest.Wait()
		p.judge()
		wrong = p.wrong
	})
	return wrong
}

const programTick = 10 * time.Millisecond

// performer is a kind of engine.
type performer struct {
	tick time.Duration // 0 for an engine without ticks
	open func(t *testing.T) hwt.Engine
}

var performers = map[string]performer{
	"hashedwheel of 8":                 {programTick, func(t *testing.T) hwt.Engine { return hashed(t, 8, 1) }},
	"hashedwheel of 512":               {programTick, func(t *testing.T) hwt.Engine { return hashed(t, 512, 1) }},
	"hashedwheel of 8 with 7 workers":  {programTick, func(t *testing.T) hwt.Engine { return hashed(t, 8, 7) }},
	"hierarchical of 3":                {programTick, func(t *testing.T) hwt.Engine { return levelled(t, 3, 1) }},
	"hierarchical of 3 with 2 workers": {programTick, func(t *testing.T) hwt.Engine { return levelled(t, 3, 2) }},
	"hierarchical of 64":               {programTick, func(t *testing.T) hwt.Engine { return levelled(t, 64, 1) }},
	"runtimetimer": {0, func(t *testing.T) hwt.Engine {
		e, err := runtimetimer.New(nil)
		require.NoError(t, err)
		return e
	}},
}

func hashed(t *testing.T, size, workers int) hwt.Engine {
	e, err := hashedwheel.New(&hashedwheel.Options{TickDuration: programTick, TicksPerWheel: size, Workers: workers})
	require.NoError(t, err)
	return e
}

func levelled(t *testing.T, size, workers int) hwt.Engine {
	e, err := hierarchical.New(&hierarchical.Options{TickDuration: programTick, TicksPerWheel: size, Workers: workers})
	require.NoError(t, err)
	return e
}
