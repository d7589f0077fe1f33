package measure

import (
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

const (
	// margin is the distance from the deadline beyond which a verdict is certain. A
	// cancel that returned so long before the task started was ignored, and one that
	// returned false so early is wrong.
	margin = 100 * time.Millisecond

	// subjectEvery is the interval between schedules.
	subjectEvery = 10 * time.Microsecond
)

// subject is one timeout under test. Times count from the start.
type subject struct {
	delay     time.Duration
	task      func()
	handle    engines.Handle
	deadline  time.Duration // counted from before the call: the earliest possible one
	cancelled time.Duration // the return of Cancel, or 0
	verdict   bool
	fired     atomic.Int64 // the first run, or 0
	times     atomic.Int32
}

// correct schedules s.N timeouts with random delays, cancels a third of them, resets a third,
// and counts the faults.
func correct(s spec.Spec, k engines.Kind, e engines.Engine) spec.Sample {
	subjects := make([]subject, s.N)
	start := time.Now()
	for _, event := range plan(subjects, s.Span, max(k.Tick, time.Millisecond)) {
		if wait := event.at - time.Since(start); wait > time.Millisecond {
			time.Sleep(wait)
		}
		event.do(&subjects[event.subject], e, start)
	}
	last := time.Duration(0)
	for i := range subjects {
		last = max(last, subjects[i].deadline)
	}
	time.Sleep(last + k.Tick + grace(s.Span) - time.Since(start))
	return spec.Sample{Metrics: judge(subjects, k.Verdict)}
}

// schedule schedules the subject with its delay.
func (s *subject) schedule(e engines.Engine, start time.Time) {
	s.task = func() {
		now := time.Since(start)
		if s.times.Add(1) == 1 {
			s.fired.Store(int64(now))
		}
	}
	s.deadline = time.Since(start) + s.delay
	s.handle = e.Schedule(s.delay, s.task)
}

// cancel cancels the subject.
func (s *subject) cancel(e engines.Engine, start time.Time) {
	s.verdict = e.Cancel(s.handle)
	s.cancelled = time.Since(start)
}

// resetTo resets the subject, unless its deadline has come close, since the engine is
// slow to call.
func (s *subject) resetTo(delay time.Duration, e engines.Engine, start time.Time) {
	now := time.Since(start)
	if now > s.deadline-margin {
		return
	}
	s.deadline = now + delay
	s.handle = e.Reset(s.handle, delay, s.task)
}

// grace returns how long after the last deadline an engine may still fire.
func grace(span time.Duration) time.Duration { return max(time.Second, 2*span) }

// judge counts the faults.
func judge(subjects []subject, verdicts bool) map[string]float64 {
	m := map[string]float64{spec.Early: 0, spec.EarlyMs: 0, spec.Lost: 0, spec.Repeated: 0, spec.Revived: 0, spec.Refused: 0}
	for i := range subjects {
		s := &subjects[i]
		times, fired := s.times.Load(), time.Duration(s.fired.Load())
		if times > 0 && fired < s.deadline {
			m[spec.Early]++
			m[spec.EarlyMs] = max(m[spec.EarlyMs], float64(s.deadline-fired)/1e6)
		}
		if times > 1 {
			m[spec.Repeated]++
		}
		if times > 0 && s.ignored(fired, verdicts) {
			m[spec.Revived]++
		}
		if times == 0 && s.owed(verdicts) {
			m[spec.Lost]++
		}
		if verdicts && s.refused(fired) {
			m[spec.Refused]++
		}
	}
	return m
}

// ignored reports whether the task ran at the time fired in spite of a cancel.
func (s *subject) ignored(fired time.Duration, verdicts bool) bool {
	if s.cancelled == 0 {
		return false
	}
	if verdicts {
		return s.verdict
	}
	return fired > s.cancelled+margin
}

// owed reports whether the task had to run: it was not cancelled, or its cancel
// returned false.
func (s *subject) owed(verdicts bool) bool {
	return s.cancelled == 0 || verdicts && !s.verdict
}

// refused reports whether a cancel returned false although the task had not run, and
// was not due for long.
func (s *subject) refused(fired time.Duration) bool {
	return s.cancelled > 0 && !s.verdict && s.cancelled < s.deadline-margin && (fired == 0 || fired > s.cancelled)
}
