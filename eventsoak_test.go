package hwt_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// For example, a billion operations: go test . -run EventSoak -events 1000000000 -timeout 0 -v
var soakedOperations = flag.Int64("events", 0, "`number` of operations of TestEventSoakAccountsForEachArm; 0: few")

const (
	soakCallers = 4
	soakEvents  = 512
	soakRound   = 1 << 20 // operations of a round
	soakBatch   = 1 << 10 // operations that a caller counts together
)

// The real clock, because the races need processors that run in parallel.
func TestEventSoakAccountsForEachArm(t *testing.T) {
	begin, total := time.Now(), soakCounts{}
	want := max(*soakedOperations, int64(enginetest.Effort(20, 6, 2))*soakRound/4)
	for round := 0; total.operations < want; round++ {
		r := newSoakedRound(t, round, min(max(want-total.operations, soakCallers*soakBatch), soakRound))
		r.run(t)
		total.add(r.check(t))
		require.False(t, t.Failed(), "%s in round %d", r.name, round)
	}
	t.Logf("%+v in %v", total, time.Since(begin).Round(time.Second))
}

// soakCounts are the calls of callers and tasks, and the ends of lives.
type soakCounts struct{ operations, lives, runs, cancels, unprocessed int64 }

func (c *soakCounts) add(d soakCounts) {
	c.operations += d.operations
	c.lives += d.lives
	c.runs += d.runs
	c.cancels += d.cancels
	c.unprocessed += d.unprocessed
}

// soakedRound is the life of a timer. The counts are atomic: written by callers and tasks.
type soakedRound struct {
	name       string
	timer      hwt.Engine
	length     int64 // in operations
	events     []soakedEvent
	operations atomic.Int64
	stopped    bool        // Stop came during the calls.
	closing    atomic.Bool // Tasks arm no events.
	early      atomic.Int64
}

// soakedEvent is an event that several goroutines and its task use.
type soakedEvent struct {
	hwt.Event
	round *soakedRound

	arms, runs, cancels, unprocessed atomic.Int64
}

func newSoakedRound(t *testing.T, number int, length int64) *soakedRound {
	r := &soakedRound{length: length, events: make([]soakedEvent, soakEvents), stopped: number/2%2 == 1}
	tick := []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}[number%3]
	var err error
	switch number % 5 {
	case 2:
		r.name = "hierarchical"
		r.timer, err = hierarchical.New(&hierarchical.Options{TickDuration: tick})
	case 3:
		r.name = "runtimetimer"
		r.timer, err = runtimetimer.New(nil)
	default:
		r.name = "hashedwheel"
		r.timer, err = hashedwheel.New(&hashedwheel.Options{TickDuration: tick, Workers: 1 + number%5/4*2})
	}
	require.NoError(t, err)
	for i := range r.events {
		e := &r.events[i]
		e.round = r
		require.NoError(t, e.Init(r.timer, e))
	}
	return r
}

// Run implements hwt.TimerTask. Sometimes it arms its event against the callers.
func (e *soakedEvent) Run(timeout hwt.Timeout) error {
	defer e.runs.Add(1) // at the end, so that rest waits for a task that arms its event
	deadline := timeout.Deadline()
	expired := timeout.IsExpired() // unless it has been armed since
	if expired && timeout.Deadline().Equal(deadline) && time.Now().Before(deadline) {
		e.round.early.Add(1)
	}
	if random := rand.Uint32(); random%4 == 0 && !e.round.closing.Load() {
		e.round.operations.Add(1)
		_ = e.arm(soakDelay(random))
	}
	return nil
}

func (e *soakedEvent) arm(delay time.Duration) error {
	err := e.Arm(delay)
	if err == nil {
		e.arms.Add(1)
	}
	return err
}

func (e *soakedEvent) cancel() {
	if e.Cancel() {
		e.cancels.Add(1)
	}
}

// soakDelay is mostly short, at times zero, and at times far beyond the round.
func soakDelay(random uint32) time.Duration {
	switch shift := random >> 24 % 16; shift {
	case 14:
		return 0
	case 15:
		return time.Hour
	default:
		return time.Duration(random & (1<<(9+shift) - 1)) // up to 4 ms
	}
}

// call makes its share of the operations, until the timer is stopped.
func (r *soakedRound) call(random *rand.Rand) {
	for made := int64(1); made <= r.length/soakCallers; made++ {
		n := random.Uint64()
		e, delay := &r.events[n%soakEvents], soakDelay(uint32(n>>32))
		switch n >> 16 % 16 {
		case 0, 1, 2, 3, 4, 5, 6, 7:
			if err := e.arm(delay); err != nil {
				return
			}
		case 8, 9, 10, 11, 12:
			e.cancel()
		default:
			e.Reset(delay)
		}
		if made%soakBatch == 0 {
			r.operations.Add(soakBatch)
			if n>>24%4 == 0 { // lets events expire, and leave the intake
				time.Sleep(time.Duration(n >> 44))
			}
		}
	}
}

// run makes the calls. In half of the rounds the timer is stopped meanwhile. In the others, each
// event must run exactly once after its last Arm.
func (r *soakedRound) run(t *testing.T) {
	var callers sync.WaitGroup
	for range soakCallers {
		callers.Go(func() { r.call(rand.New(rand.NewPCG(rand.Uint64(), 0))) })
	}
	if r.stopped {
		for r.operations.Load() < r.length/2 {
			time.Sleep(time.Millisecond)
		}
		r.stop(t)
		callers.Wait()
		return
	}
	callers.Wait()
	r.closing.Store(true)
	r.rest(t, (*soakedEvent).cancel) // a task may arm its event after a Cancel
	before := make([]int64, soakEvents)
	for i := range r.events {
		before[i] = r.events[i].runs.Load()
		require.NoError(t, r.events[i].arm(time.Duration(i)*time.Microsecond))
	}
	r.rest(t, nil)
	for i := range r.events {
		require.Equal(t, before[i]+1, r.events[i].runs.Load(), "%s: runs of one more Arm", r.name)
	}
	r.stop(t)
}

// rest waits until no event is pending, and no task runs, twice in succession with the same
// counts: between two reads, an event may expire. Each time, rest first calls end for each event.
func (r *soakedRound) rest(t *testing.T, end func(*soakedEvent)) {
	var seen, before string
	if !assert.Eventually(t, func() bool {
		runs := int64(0)
		for i := range r.events {
			if end != nil {
				end(&r.events[i])
			}
			runs += r.events[i].runs.Load()
		}
		stats := r.timer.Stats()
		before, seen = seen, fmt.Sprintf("%d runs of %d, %d pending", runs, stats.Expired, stats.Pending)
		return stats.Pending == 0 && runs == stats.Expired && seen == before
	}, time.Minute, time.Millisecond) {
		t.Fatalf("%s is not at rest: %s", r.name, seen)
	}
}

// stop stops the timer, and counts what it returns.
func (r *soakedRound) stop(t *testing.T) {
	index := make(map[hwt.Timeout]int, soakEvents)
	for i := range r.events {
		index[&r.events[i].Event] = i
	}
	for _, timeout := range r.timer.Stop() {
		i, ok := index[timeout]
		require.True(t, ok, "%s: Stop returned %v", r.name, timeout)
		r.events[i].unprocessed.Add(1)
	}
}

// check compares the counts of the round with those of its timer.
func (r *soakedRound) check(t *testing.T) soakCounts {
	r.rest(t, nil)
	got := soakCounts{operations: r.operations.Load()}
	for i := range r.events {
		e := &r.events[i]
		runs, cancels, unprocessed := e.runs.Load(), e.cancels.Load(), e.unprocessed.Load()
		assert.LessOrEqual(t, runs+cancels+unprocessed, e.arms.Load(), "%s: lives and arms of event %d", r.name, i)
		assert.LessOrEqual(t, unprocessed, int64(1))
		assert.ErrorIs(t, e.Arm(0), hwt.ErrStopped)
		assert.False(t, e.Cancel() || e.Reset(0), "%s: event %d is pending after Stop", r.name, i)
		got.add(soakCounts{lives: runs + cancels + unprocessed, runs: runs, cancels: cancels, unprocessed: unprocessed})
	}
	s := r.timer.Stats()
	assert.Zero(t, r.early.Load(), "%s: early", r.name)
	assert.Equal(t, soakCounts{got.operations, s.Accepted, s.Expired, s.Cancelled, s.Unprocessed}, got, r.name)
	return got
}
