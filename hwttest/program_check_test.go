package hwttest_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashedwheel/hwt"
)

// ending is the way and time a timeout ended. callOrder is 0 for a run: the timeout expired
// at the same instant, some time before its task ran.
type ending struct {
	moment
	how string
}

// judge checks the record of a performance whose engine is stopped and idle. Of two calls,
// one is first only if it returned before the other began.
func (p *performance) judge() {
	returned := p.byDeed()
	counts := map[string]int64{}
	for i, d := range p.deeds {
		p.judgeAcceptance(d.calls[0])
		if !d.calls[0].ok {
			if len(d.runs)+d.notified+len(returned[d]) > 0 {
				p.fault("%d was rejected, but ran, was notified, or was returned by Stop", i)
			}
			continue
		}
		counts["accepted"]++
		ends := d.endings(returned[d])
		if len(ends) != 1 {
			p.fault("%d ended %d times: %+v", i, len(ends), ends)
			continue
		}
		counts[ends[0].how]++
		if ends[0].how == "ran" && p.hasWorker() && p.stoppedOutside(d.runs[0].callOrder) {
			p.fault("%d ran at %v, after Stop had returned", i, ends[0].called)
		}
		for _, text := range append(d.faults(ends[0], p.tick), p.listed(d, ends[0])...) {
			p.fault("%d, which %s at %v: %s", i, ends[0].how, ends[0].returned, text)
		}
	}
	s := p.engine.Stats()
	got := [5]int64{s.Accepted, s.Expired, s.Cancelled, s.Unprocessed, s.Pending}
	want := [5]int64{counts["accepted"], counts["ran"], counts["was cancelled"], counts["was stopped"], 0}
	if got != want {
		p.fault("Stats count %d accepted, expired, cancelled, unprocessed and pending, want %d", got, want)
	}
}

// compareCounts checks Pending, and that no deadline has passed. All actors are idle.
func (p *performance) compareCounts() {
	pending := int64(0)
	stopped := p.byDeed()
	for i, d := range p.deeds {
		if !d.calls[0].ok || len(d.endings(stopped[d])) > 0 {
			continue
		}
		pending++
		if d.inForce(func(c call) bool { return p.tickOf(c) > p.now() }) == nil {
			p.fault("%d is overdue at %v: %+v", i, p.now(), d.calls)
		}
	}
	if got := p.engine.Pending(); got != pending {
		p.fault("%d are pending at %v, want %d", got, p.now(), pending)
	}
}

// byDeed returns the calls of Stop that returned each deed.
func (p *performance) byDeed() map[*deed][]call {
	by := map[*deed][]call{}
	for _, c := range p.stops {
		for _, timeout := range c.unprocessed {
			d := deedOf(timeout)
			by[d] = append(by[d], c)
		}
	}
	return by
}

func deedOf(timeout hwt.Timeout) *deed {
	if d, ok := timeout.Task().(notifiable); ok {
		return d.deed
	}
	return timeout.Task().(*deed)
}

// judgeAcceptance checks the result of a NewTimeout against the calls of Stop.
func (p *performance) judgeAcceptance(c call) {
	begun := false
	for _, s := range p.stops {
		begun = begun || s.callOrder < c.doneOrder
	}
	switch {
	case c.ok && p.stopped(c.callOrder):
		p.fault("accepted at %v, after Stop", c.called)
	case !c.ok && !(begun && errors.Is(c.err, hwt.ErrStopped)):
		p.fault("rejected at %v: %v", c.called, c.err)
	}
}

// stopped reports whether a Stop returned before the event with that order.
func (p *performance) stopped(order int64) bool {
	return slices.ContainsFunc(p.stops, func(s call) bool { return s.doneOrder < order })
}

// stoppedOutside is stopped without calls from tasks. They do not wait for other workers,
// which may still start a task.
func (p *performance) stoppedOutside(order int64) bool {
	return slices.ContainsFunc(p.stops, func(s call) bool { return !s.inner && s.doneOrder < order })
}

// listed checks the timeouts that All yielded against the lifetime of one timeout.
func (p *performance) listed(d *deed, e ending) (all []string) {
	for _, l := range p.lists {
		n := 0
		for _, timeout := range l.unprocessed {
			if deedOf(timeout) == d {
				n++
			}
		}
		made := d.calls[0]
		throughout := made.doneOrder < l.callOrder && (l.doneOrder < e.callOrder || e.callOrder == 0 && l.returned < e.called)
		switch {
		case n > 1:
			all = append(all, fmt.Sprintf("All at %v yielded it %d times", l.called, n))
		case n == 0 && throughout:
			all = append(all, fmt.Sprintf("All at %v missed it: %+v", l.called, d.calls))
		case n == 1 && (l.doneOrder < made.callOrder || e.how != "ran" && e.doneOrder < l.callOrder):
			all = append(all, fmt.Sprintf("All at %v yielded it when it was not pending", l.called))
		}
	}
	return all
}

// hasWorker reports whether Stop waits for running tasks.
func (p *performance) hasWorker() bool { return p.tick > 0 }

// endings returns all events that ended the timeout. There should be one.
func (d *deed) endings(stops []call) (all []ending) {
	for _, m := range d.runs {
		m.doneOrder, m.returned, m.callOrder = m.callOrder, m.called, 0
		all = append(all, ending{m, "ran"})
	}
	for _, c := range d.calls {
		if c.op == cancel && c.ok {
			all = append(all, ending{c.moment, "was cancelled"})
		}
	}
	for _, c := range stops {
		all = append(all, ending{c.moment, "was stopped"})
	}
	return all
}

// faults checks a timeout's record against its end.
func (d *deed) faults(e ending, tick time.Duration) (all []string) {
	fault := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, c := range d.calls[1:] {
		switch {
		case c.ok && c.callOrder > e.doneOrder:
			fault("%s at %v, after the end, returned true", actionNames[c.op], c.called)
		case !c.ok && (c.doneOrder < e.callOrder || c.returned < e.called):
			fault("%s at %v returned false for a pending timeout", actionNames[c.op], c.called)
		}
	}
	if !d.onTime(e, tick) {
		fault("early or late: %+v", d.calls)
	}
	if ran := e.how == "ran"; d.timeout.IsExpired() != ran || d.timeout.IsCancelled() == ran {
		fault("IsExpired is %v, IsCancelled %v", d.timeout.IsExpired(), d.timeout.IsCancelled())
	}
	_, wants := d.timeout.Task().(notifiable)
	if notified := wants && e.how == "was cancelled"; notified != (d.notified == 1) || d.notified > 1 {
		fault("notified %d times", d.notified)
	}
	return all
}

// onTime reports whether the end fits a deadline that may have been in force. All
// successful Resets came before the end.
func (d *deed) onTime(e ending, tick time.Duration) bool {
	return d.inForce(func(c call) bool {
		early := e.how == "ran" && e.called < c.deadline
		return !early && e.called <= instantOf(c, tick)
	}) != nil
}

// inForce returns a call that may have set the last deadline and satisfies fits, or nil.
// A call that returned before another began did not set it.
func (d *deed) inForce(fits func(c call) bool) *call {
	for i, c := range d.calls {
		if c.op == cancel || !c.ok || !fits(c) {
			continue
		}
		outdated := false
		for _, other := range d.calls {
			outdated = outdated || other.op != cancel && other.ok && other.callOrder > c.doneOrder
		}
		if !outdated {
			return &d.calls[i]
		}
	}
	return nil
}

// tickOf calls instantOf with the engine's tick.
func (p *performance) tickOf(c call) time.Duration { return instantOf(c, p.tick) }

// instantOf returns the latest time for the timeout to run after c set its deadline: the
// first tick after the call and not before the deadline.
func instantOf(c call, tick time.Duration) time.Duration {
	if tick == 0 || c.deadline > beyond-tick {
		return c.deadline
	}
	return max((c.deadline+tick-1)/tick, c.called/tick+1) * tick
}
