package measure

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

const (
	// heeded is how long before a task starts its cancel must have returned to
	// count as ignored, with an engine that gives no verdict.
	heeded = 100 * time.Millisecond

	// subjectEvery is how far apart the timeouts are scheduled.
	subjectEvery = 10 * time.Microsecond
)

// subject is one timeout under test. Times count from the start.
type subject struct {
	delay     time.Duration
	handle    engines.Handle
	deadline  time.Duration // counted from before the call, so the earliest that it can be
	cancelled time.Duration // when Cancel returned, or 0
	verdict   bool
	fired     atomic.Int64 // when first, or 0
	times     atomic.Int32
}

// event is something to do with a subject.
type event struct {
	at      time.Duration
	subject int
	cancel  bool
}

// correct schedules s.N timeouts with random delays up to s.Span, cancels a
// third of them, half of those close to the deadline, and counts what went
// wrong.
func correct(s spec.Spec, k engines.Kind, e engines.Engine) spec.Sample {
	subjects := make([]subject, s.N)
	events := plan(subjects, s.Span, max(k.Tick, time.Millisecond))
	start := time.Now()
	for _, event := range events {
		if wait := event.at - time.Since(start); wait > time.Millisecond {
			time.Sleep(wait)
		}
		if subject := &subjects[event.subject]; event.cancel {
			subject.verdict = e.Cancel(subject.handle)
			subject.cancelled = time.Since(start)
		} else {
			subject.schedule(e, start)
		}
	}
	time.Sleep(s.Span + k.Tick + grace(s.Span))
	return spec.Sample{Metrics: judge(subjects, k.Verdict)}
}

// schedule schedules the subject with its delay.
func (s *subject) schedule(e engines.Engine, start time.Time) {
	s.deadline = time.Since(start) + s.delay
	s.handle = e.Schedule(s.delay, func() {
		now := time.Since(start)
		if s.times.Add(1) == 1 {
			s.fired.Store(int64(now))
		}
	})
}

// grace returns how long after the last deadline an engine may still fire.
func grace(span time.Duration) time.Duration { return max(time.Second, 2*span) }

// plan gives each subject a delay, and returns what to do when.
func plan(subjects []subject, span, tick time.Duration) []event {
	r := rand.New(rand.NewPCG(3, 4))
	events := make([]event, 0, len(subjects)*4/3+1)
	for i := range subjects {
		at := time.Duration(i) * subjectEvery
		subjects[i].delay = 1 + time.Duration(r.Int64N(int64(span)))
		events = append(events, event{at: at, subject: i})
		switch i % 6 {
		case 0: // any time before the deadline
			at += time.Duration(r.Int64N(int64(subjects[i].delay)))
		case 1: // about when it may fire
			at += max(0, subjects[i].delay+time.Duration(r.Int64N(int64(3*tick)))-tick)
		default:
			continue
		}
		events = append(events, event{at: at, subject: i, cancel: true})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return events
}

// judge counts what went wrong.
func judge(subjects []subject, verdicts bool) map[string]float64 {
	m := map[string]float64{spec.Early: 0, spec.EarlyMs: 0, spec.Lost: 0, spec.Repeated: 0, spec.Revived: 0}
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
	return fired > s.cancelled+heeded
}

// owed reports whether the task had to run: it was not cancelled, or its cancel
// said that it came too late.
func (s *subject) owed(verdicts bool) bool {
	return s.cancelled == 0 || verdicts && !s.verdict
}
