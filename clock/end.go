package clock

import (
	"context"

	"github.com/hashedwheel/hwt"
)

// endingTask is implemented by the tasks of this package.
type endingTask interface {
	// endOn ends the timers, tickers, contexts or jobs behind the task, if the clock made
	// them, and reports whether the clock did. The timer's Stop cancelled the timeout.
	endOn(*Clock) bool
}

// End ends the clock's timeouts in unprocessed, and returns the others. Call it with the
// timeouts that the timer's Stop or Shutdown returned, after everything that uses the clock has
// had time to finish:
//
//	others := c.End(timer.Stop())
//
// A context ends with the error [context.Canceled] and the cause [hwt.ErrStopped]. A timer, a
// ticker or a job is stopped, as by its Stop method: the function of an AfterFunc does not run.
// Sleep returns, and the channel of After receives the due time, because nothing else could end
// these waits. A timer that was reset since the Stop continues on runtime timers. A ticker or
// job with a timeout that had just expired does the same. Running the tasks of the timeouts
// instead has no effect on timers and jobs.
//
// Several clocks may share a timer; each clock ends its own timeouts. If the timer wraps
// tasks, the wrapper must have a method Unwrap() hwt.TimerTask; otherwise the timeout is
// among the others. End takes time proportional to the number of timeouts and of the
// tickers behind the timeouts.
func (c *Clock) End(unprocessed []hwt.Timeout) (others []hwt.Timeout) {
	for _, timeout := range unprocessed {
		if !timeout.IsCancelled() || !c.end(timeout.Task()) {
			others = append(others, timeout)
		}
	}
	return others
}

// end ends the context, ticker, or job of c to which task belongs. end returns false if task belongs
// to no object of c.
func (c *Clock) end(task hwt.TimerTask) bool {
	for {
		switch t := task.(type) {
		case endingTask:
			return t.endOn(c)
		case interface{ Unwrap() hwt.TimerTask }:
			task = t.Unwrap()
		default:
			return false
		}
	}
}

func (x *contextTask) endOn(c *Clock) bool {
	ctx := (*deadlineCtx)(x)
	if ctx.clock != c {
		return false
	}
	if ctx.parent.Err() != nil {
		ctx.endAsParent()
	} else {
		ctx.end(canceled, context.Canceled, hwt.ErrStopped)
	}
	return true
}

func (x *timerTask) endOn(c *Clock) bool {
	t := (*Timer)(x)
	if t.clock != c {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timeout == nil || !t.timeout.IsCancelled() {
		return true // It was stopped or reset since (T1).
	}
	t.timeout = nil
	if t.C == nil && t.f == nil { // of After or Sleep
		t.fire()
	}
	return true
}

func (x *groupTask) endOn(c *Clock) bool {
	g := (*tickerGroup)(x)
	if g.clock != c {
		return false
	}
	for _, t := range g.stranded() {
		t.end(g)
	}
	return true
}

// stranded returns the tickers if nothing will make them tick.
func (g *tickerGroup) stranded() (all []*Ticker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.firing || !g.timeout.IsCancelled() {
		return nil
	}
	for _, head := range []*Ticker{g.ring.head, g.late.head} {
		for t := head; t != nil; t = t.next {
			all = append(all, t)
			if t.next == head {
				break
			}
		}
	}
	return all
}

// end stops the ticker, unless it has left g.
func (t *Ticker) end(g *tickerGroup) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.group == g {
		t.leave()
	}
}

func (x *jobTask) endOn(c *Clock) bool {
	j := (*Job)(x)
	if j.clock != c {
		return false
	}
	if j.endIfTimeoutCancelled() {
		j.settings.cancel()
	}
	return true
}

// endIfTimeoutCancelled stops the job unless the job was armed again since, and reports
// whether the job was stopped.
func (j *Job) endIfTimeoutCancelled() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.timeout == nil || !j.timeout.IsCancelled() {
		return false
	}
	j.stop()
	return true
}
