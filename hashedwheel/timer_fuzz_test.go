package hashedwheel

import (
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// A fuzzed input encodes a program. Two bytes select the tick, the wheel size, and the
// number of workers. Each further three bytes are an operation and its arguments. The
// program runs in a bubble, next to a model with the earliest and the latest time of each
// event.

var (
	fuzzTicks  = []time.Duration{time.Millisecond, 3_700_001, 100 * time.Millisecond, time.Hour}
	fuzzWheels = []int{1, 2, 8, 512, 4096}

	fuzzWorkers = []int{1, 2, 7}
)

// planned is a timeout, and its expected end.
type planned struct {
	timeout   hwt.Timeout
	deadline  time.Duration // since the start
	due       time.Duration // the latest time since the start at which it fires, or never
	fired     []time.Duration
	cancelled bool
	notified  int
	then      time.Duration // delay of a timeout that its task schedules, if not negative
}

const never = time.Duration(math.MaxInt64)

// program is a timer and its model.
type program struct {
	t     *testing.T
	timer *Timer
	tick  time.Duration
	start time.Time

	mu  sync.Mutex // held by the program or a task, but not while time passes
	all []*planned
}

func (p *program) now() time.Duration { return time.Since(p.start) }

// due returns the latest time at which a timeout scheduled now fires: the first tick that
// is in the future and not before the deadline.
func (p *program) due(delay time.Duration) time.Duration {
	now := p.now()
	deadline := now + max(delay, 0)
	if deadline < now || deadline > 1<<61 {
		return never
	}
	return max((deadline+p.tick-1)/p.tick, now/p.tick+1) * p.tick
}

func (p *program) schedule(delay, then time.Duration) {
	c := &planned{then: then, deadline: p.now() + max(delay, 0), due: p.due(delay)}
	timeout, err := p.timer.NewTimeout(plannedTask{p, c}, delay)
	require.NoError(p.t, err)
	c.timeout = timeout
	p.all = append(p.all, c)
}

// plannedTask is the task of a planned timeout.
type plannedTask struct {
	p *program
	c *planned
}

func (f plannedTask) Run(hwt.Timeout) error {
	f.p.mu.Lock()
	defer f.p.mu.Unlock()
	f.c.fired = append(f.c.fired, f.p.now())
	if f.c.then >= 0 { // not 0, because another worker may not have processed this tick
		f.p.schedule(max(f.c.then, 1), -1)
	}
	return nil
}

func (f plannedTask) Cancelled(hwt.Timeout) {
	f.p.mu.Lock()
	defer f.p.mu.Unlock()
	f.c.notified++
}

// pending reports whether c is pending.
func (p *program) pending(c *planned) bool { return !c.cancelled && len(c.fired) == 0 }

// delay covers all magnitudes, from nanoseconds to overflow, and the time around a tick.
func (p *program) delay(kind, n byte) time.Duration {
	switch kind % 8 {
	case 0:
		return -time.Duration(n)
	case 1:
		return time.Duration(n)
	case 2:
		return p.tick - p.now()%p.tick + time.Duration(n) - 128 // around the next tick
	case 3:
		return time.Duration(n) * p.tick / 7
	case 4:
		return time.Duration(n) * p.tick
	case 5:
		return time.Duration(n)*p.tick*97 + time.Duration(n)
	case 6:
		return time.Duration(n) * p.tick * 1021 * 4
	default:
		return math.MaxInt64 - time.Duration(n)
	}
}

func (p *program) step(op, kind, n byte) {
	synctest.Wait() // for the timeouts that the last step made due
	p.mu.Lock()
	defer p.mu.Unlock()
	var c *planned
	if len(p.all) > 0 {
		c = p.all[(int(kind)<<3+int(n))%len(p.all)]
	}
	switch op % 8 {
	case 0, 1:
		p.schedule(p.delay(kind, n), -1)
	case 2:
		p.schedule(p.delay(kind, n), p.delay(n, kind))
	case 3:
		if c != nil {
			pending := p.pending(c)
			require.Equal(p.t, pending, c.timeout.Cancel(), "Cancel")
			c.cancelled = c.cancelled || pending
		}
	case 4, 5:
		if c != nil {
			pending, delay := p.pending(c), p.delay(n, kind)
			due := p.due(delay)
			require.Equal(p.t, pending, c.timeout.Reset(delay), "Reset")
			if pending {
				c.due, c.deadline = due, p.now()+max(delay, 0)
			}
		}
	default:
		if d := p.delay(kind, n); d > 0 && d < 1<<55 {
			p.pass(d)
			p.check()
		}
	}
}

// pass advances time, and runs the due tasks. It does not end exactly at a tick, because
// an idle worker has not processed that tick: a timeout scheduled without a delay would
// run immediately.
func (p *program) pass(d time.Duration) {
	if (p.now()+d)%p.tick == 0 {
		d++
	}
	p.mu.Unlock()
	defer p.mu.Lock()
	time.Sleep(d)
	synctest.Wait()
}

func (p *program) check() {
	pending := int64(0)
	for i, c := range p.all {
		switch {
		case c.cancelled:
			require.Empty(p.t, c.fired, "timeout %d was cancelled", i)
		case len(c.fired) > 0:
			require.Len(p.t, c.fired, 1, "timeout %d", i)
			require.GreaterOrEqual(p.t, c.fired[0], c.deadline, "timeout %d", i)
			require.LessOrEqual(p.t, c.fired[0], c.due, "timeout %d", i)
		default:
			require.Greater(p.t, c.due, p.now(), "timeout %d", i)
			pending++
		}
		require.Equal(p.t, c.cancelled, c.timeout.IsCancelled())
		require.Equal(p.t, len(c.fired) == 1, c.timeout.IsExpired())
	}
	require.Equal(p.t, pending, p.timer.Pending())
}

// end stops the timer and compares the unprocessed timeouts.
func (p *program) end() {
	var want []hwt.Timeout
	for _, c := range p.all {
		if p.pending(c) {
			want = append(want, c.timeout)
		}
	}
	p.mu.Unlock()
	got := p.timer.Stop()
	p.mu.Lock()
	require.Len(p.t, got, len(want))
	for _, timeout := range want {
		require.True(p.t, slices.Contains(got, timeout))
	}
	cancelled := 0
	for _, c := range p.all {
		notified := 0
		if c.cancelled {
			notified = 1
			cancelled++
		}
		require.Equal(p.t, notified, c.notified, "Cancelled is called once, and only after Cancel")
	}
	s := p.timer.Stats()
	require.EqualValues(p.t, len(p.all), s.Accepted)
	require.EqualValues(p.t, cancelled, s.Cancelled)
	require.EqualValues(p.t, len(want), s.Unprocessed)
	require.EqualValues(p.t, len(p.all)-cancelled-len(want), s.Expired)
	require.Zero(p.t, s.Pending)
}

func FuzzProgram(f *testing.F) {
	f.Add([]byte("\x00\x02" + "\x00\x04\x05" + "\x07\x04\x06")) // one timeout expires
	f.Add([]byte("\x00\x00" + "\x00\x05\x09" + "\x03\x00\x00" + "\x07\x05\xff"))
	f.Add([]byte("\x01\x01" + "\x02\x03\x10" + "\x07\x04\x02" + "\x04\x01\x05" + "\x07\x06\x01" + "\x00\x07\x00"))
	f.Add([]byte("\x02\x03" + "\x00\x00\x00" + "\x00\x02\x80" + "\x07\x02\x80" + "\x00\x00\x01" + "\x04\x00\x04" + "\x07\x04\x01"))
	f.Add([]byte("\x00\x00" + "\x00\x06\x30" + "\x00\x05\x30" + "\x07\x06\x30" + "\x05\x00\x01" + "\x07\x06\x31")) // hundreds of rotations
	f.Add([]byte("\x03\x04" + "\x02\x04\x01" + "\x02\x07\x04" + "\x04\x00\x07" + "\x07\x05\x07" + "\x05\x00\x01" + "\x07\x04\x01"))
	f.Add([]byte("\x01\x11" + "\x02\x03\x10" + "\x07\x04\x02" + "\x04\x01\x05" + "\x07\x06\x01" + "\x00\x07\x00"))                  // two workers
	f.Add([]byte("\x02\x23" + "\x00\x00\x00" + "\x00\x02\x80" + "\x07\x02\x80" + "\x00\x00\x01" + "\x04\x00\x04" + "\x07\x04\x01")) // seven workers
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) < 2 || len(input) > 300 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			tick := fuzzTicks[int(input[0])%len(fuzzTicks)]
			timer, err := New(&Options{
				TickDuration:  tick,
				TicksPerWheel: fuzzWheels[int(input[1])%len(fuzzWheels)],
				Workers:       fuzzWorkers[int(input[1]>>4)%len(fuzzWorkers)],
			})
			require.NoError(t, err)
			p := &program{t: t, timer: timer, tick: tick, start: time.Now()}
			defer timer.Stop()
			timer.Start()
			synctest.Wait()
			for ops := input[2:]; len(ops) >= 3; ops = ops[3:] {
				p.step(ops[0], ops[1], ops[2])
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.pass(2 * tick)
			p.check()
			p.end()
		})
	})
}
