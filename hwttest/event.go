package hwttest

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hashedwheel/hwt"
)

// The checks of events. An engine that is no [hwt.EventTimer] is tested through the events
// that package hwt makes of its timeouts.
var eventChecks = []check{
	{"EventIsTheTimeoutOfItsTask", fake, eventIsTimeout},
	{"EventArmsItself", fake, eventArmsItself},
	{"EventRejectsWrongUse", fake, eventWrongUse},
	{"EventsKeepTheMaximum", fake, eventLimit},
	{"EventArmFailsAfterStop", fake, eventAfterStop},
	{"AllAndStopShowEvents", fake, eventsShown},
	{"EventsAgreeWithAModel", fake, eventsModel},
	// Real: goroutines on several processors, at random moments.
	{"EventIsLinearizable", realClock, eventLinearizable},
}

// eventProbe is a probe with an event of its own.
type eventProbe struct {
	probe
	event hwt.Event
}

// newEvent returns an event of e that is not armed.
func newEvent(tb testing.TB, e hwt.Engine) *eventProbe {
	p := new(eventProbe)
	require.NoError(tb, p.event.Init(e, p))
	return p
}

// arm is Arm, and fails the check on an error.
func (p *eventProbe) arm(tb testing.TB, delay time.Duration) {
	require.NoError(tb, p.event.Arm(delay))
}

func eventIsTimeout(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	var event hwt.Event
	var got hwt.Timeout
	expired := false
	t := task(func(timeout hwt.Timeout) { got, expired = timeout, timeout.IsExpired() })
	require.NoError(tb, event.Init(e, t))
	assert.False(tb, event.IsExpired() || event.IsCancelled())
	require.NoError(tb, event.Arm(24*time.Hour))
	assert.Equal(tb, time.Now().Add(24*time.Hour), event.Deadline())
	pass(24*time.Hour + 2*tick)
	assert.True(tb, got == &event, "the task receives its event")
	assert.True(tb, expired && event.IsExpired())
	require.NoError(tb, event.Arm(tick))
	assert.False(tb, event.IsExpired(), "it is pending again")
	assert.True(tb, event.Cancel())
	assert.True(tb, event.IsCancelled())
	assert.False(tb, event.Reset(0), "Reset revives nothing")
	require.NoError(tb, event.Arm(math.MaxInt64))
	pass(1000 * time.Hour)
	assert.True(tb, event.Deadline().IsZero() && event.Cancel(), "it is never due")
}

func eventArmsItself(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	var event hwt.Event
	begin, runs := time.Now(), 0
	require.NoError(tb, event.Init(e, task(func(hwt.Timeout) {
		if runs++; runs < 1000 {
			assert.False(tb, event.Cancel(), "it fires")
			assert.NoError(tb, event.Arm(3*tick))
		}
	})))
	require.NoError(tb, event.Arm(3*tick))
	pass(1000 * 4 * tick)
	assert.Equal(tb, 1000, runs)
	assert.LessOrEqual(tb, time.Since(begin), 1001*4*tick)
	assert.False(tb, event.Cancel())
	balanced(tb, e)
}

func eventWrongUse(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	var zero hwt.Event
	assert.ErrorIs(tb, zero.Arm(0), hwt.ErrEventNotInitialized)
	assert.False(tb, zero.Cancel() || zero.Reset(0) || zero.IsExpired() || zero.IsCancelled())
	assert.ErrorIs(tb, zero.Init(e, nil), hwt.ErrNilTask)
	assert.ErrorIs(tb, zero.Init(e, hwt.TaskFunc(nil)), hwt.ErrNilTask)
	assert.ErrorIs(tb, zero.Init(nil, nothing), hwt.ErrInvalid)
	p := newEvent(tb, e)
	assert.ErrorIs(tb, p.event.Init(e, p), hwt.ErrEventInitialized)
	p.arm(tb, tick)
	assert.ErrorIs(tb, p.event.Init(e, nothing), hwt.ErrEventInitialized)
	pass(3 * tick)
	assert.Equal(tb, 1, p.ran.count(), "a second Init changes nothing")
}

func eventLimit(tb testing.TB, newTimer factory) {
	const limit = 3
	e := newTimer.start(tb, Options{MaxPendingTimeouts: limit})
	events := make([]*eventProbe, limit)
	for i := range events {
		events[i] = newEvent(tb, e)
		events[i].arm(tb, 10*tick)
	}
	more := newEvent(tb, e)
	assert.ErrorIs(tb, more.event.Arm(0), hwt.ErrTooManyPending)
	refused(tb, e, limit)
	events[0].arm(tb, tick) // is pending, and moves
	assert.True(tb, events[1].event.Cancel())
	more.arm(tb, time.Hour)
	pass(3 * tick)
	events[1].arm(tb, time.Hour) // events[0] has fired
	assert.ErrorIs(tb, events[0].event.Arm(0), hwt.ErrTooManyPending)
	balanced(tb, e)
}

func eventAfterStop(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	pending, ended, late := newEvent(tb, e), newEvent(tb, e), newEvent(tb, e)
	pending.arm(tb, tick)
	ended.arm(tb, time.Hour)
	ended.event.Cancel()
	assert.Len(tb, e.Stop(), 1)
	for _, p := range []*eventProbe{pending, ended, late} {
		assert.ErrorIs(tb, p.event.Arm(0), hwt.ErrStopped)
		assert.False(tb, p.event.Cancel() || p.event.Reset(0))
	}
	assert.True(tb, pending.event.IsCancelled() && ended.event.IsCancelled())
	assert.False(tb, late.event.IsCancelled())
	assert.NoError(tb, new(hwt.Event).Init(e, nothing))
	pass(5 * tick)
	assert.Zero(tb, pending.ran.count())
}

func eventsShown(tb testing.TB, newTimer factory) {
	e := newTimer.start(tb, Options{})
	if _, ok := e.(hwt.EventTimer); !ok {
		tb.Skip("the engine shows its own timeouts")
	}
	var want []hwt.Timeout
	for i := range 300 {
		p := newEvent(tb, e)
		p.arm(tb, time.Hour)
		if i%2 == 0 {
			pass(tick) // some are with the worker
		}
		switch i % 3 {
		case 0:
			p.event.Cancel()
		case 1:
			p.event.Cancel()
			p.arm(tb, time.Hour)
			fallthrough
		default:
			want = append(want, &p.event)
		}
	}
	sameTimeouts(tb, want, collect(e))
	sameTimeouts(tb, want, e.Stop())
}

// eventState is an event in its model.
type eventState struct {
	*eventProbe
	deadline time.Time // zero if it is not pending
	runs     int
}

// eventsModel makes random calls, and compares the runs and the counts with a model's.
func eventsModel(tb testing.TB, newTimer factory) {
	for range 20 {
		e := newTimer.start(tb, Options{})
		events := make([]eventState, 1+rand.N(8))
		for i := range events {
			events[i].eventProbe = newEvent(tb, e)
		}
		var want hwt.Stats
		for range 300 {
			events[rand.N(len(events))].call(tb, &want)
			for i := range events {
				events[i].verify(tb)
			}
		}
		pass(time.Second)
		for _, s := range events {
			want.Expired += int64(s.ran.count())
			assert.Zero(tb, s.notified.count(), "an event notifies no task")
		}
		got := balanced(tb, e)
		assert.Equal(tb, [4]int64{want.Accepted, 0, want.Expired, want.Cancelled}, [4]int64{got.Accepted, got.Pending, got.Expired, got.Cancelled})
		e.Stop()
	}
}

// call sleeps, or makes a random call, except at the moment of the deadline.
func (s *eventState) call(tb testing.TB, want *hwt.Stats) {
	delay, pending := rand.N(time.Duration(1)<<(10+rand.N(20)))-100, !s.deadline.IsZero()
	switch {
	case rand.N(3) == 0:
		time.Sleep(delay)
		return
	case pending && !time.Now().Before(s.deadline): // it fires about now
		return
	case rand.N(3) == 0:
		require.Equal(tb, pending, s.event.Cancel())
		if pending {
			want.Cancelled++
		}
		s.deadline = time.Time{}
		return
	case rand.N(3) > 0:
		if !pending {
			want.Accepted++
		}
		s.arm(tb, delay)
		pending = true
	default:
		require.Equal(tb, pending, s.event.Reset(delay))
	}
	if pending {
		s.deadline = time.Now().Add(max(delay, 0))
	}
}

// verify notes a run, and asserts that no run is early, late, or missing.
func (s *eventState) verify(tb testing.TB) {
	if ran := s.ran.count(); ran > s.runs {
		s.runs++
		require.Equal(tb, s.runs, ran)
		between(tb, s.ran.at(), s.deadline, s.deadline.Add(tick), "an event")
		s.deadline = time.Time{}
	}
	require.False(tb, !s.deadline.IsZero() && time.Since(s.deadline) > 2*tick, "an event is lost")
}

// eventLinearizable lets goroutines arm and cancel one event. The deadlines are far.
func eventLinearizable(tb testing.TB, newTimer factory) {
	onProcs(func(int) {
		e := newTimer.start(tb, Options{TickDuration: time.Millisecond})
		for range 40 {
			h, p := newHistory(), newEvent(tb, e)
			together(3, func(int) {
				for range 8 {
					switch op := lifeOp(rand.N(4)); op {
					case opCancel:
						h.record(op, p.event.Cancel)
					case opReset:
						h.record(op, func() bool { return p.event.Reset(time.Hour) })
					case opIsCancelled:
						h.record(op, p.event.IsCancelled)
					default:
						h.record(opArm, func() bool { return p.event.Arm(time.Hour) == nil })
					}
					if rand.N(4) == 0 {
						time.Sleep(upTo(300 * time.Microsecond))
					}
				}
			})
			if !h.explained(tb, unarmed) {
				return
			}
			p.event.Cancel()
		}
		e.Stop()
	})
}
