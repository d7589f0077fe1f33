package measure

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
)

// event is an action on a subject.
type event struct {
	at      time.Duration
	subject int
	do      func(*subject, engines.Engine, time.Time)
}

// planner returns a second event for a subject, given its time and delay, or an empty event.
type planner func(r *rand.Rand, i int, at, delay time.Duration) event

// plan sets the delays of the subjects and returns the events in order. Most delays are at
// most span. A tenth are 3.5 spans longer, more than a rotation of any wheel here.
func plan(subjects []subject, span time.Duration, second planner) []event {
	r := rand.New(rand.NewPCG(3, 4))
	events := make([]event, 0, len(subjects)*3/2+1)
	for i := range subjects {
		at := time.Duration(i) * subjectEvery
		delay := upTo(r, span)
		if r.IntN(10) == 0 {
			delay += 7 * span / 2
		}
		subjects[i].delay = delay
		events = append(events, event{at, i, (*subject).schedule})
		if e := second(r, i, at, delay); e.do != nil {
			events = append(events, e)
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return events
}

func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return 1 + time.Duration(r.Int64N(int64(most)))
}

// cancels plans a cancel for a sixth of the subjects at any time before the
// deadline, and for a sixth about when they may fire.
func cancels(tick time.Duration) planner {
	return func(r *rand.Rand, i int, at, delay time.Duration) event {
		switch i % 6 {
		case 0:
			return event{at + upTo(r, delay), i, (*subject).cancel}
		case 1:
			return event{at + max(0, delay+upTo(r, 3*tick)-tick), i, (*subject).cancel}
		}
		return event{}
	}
}

// resets plans a reset for half of the subjects, to a new delay of at most span.
func resets(span time.Duration) planner {
	return func(r *rand.Rand, i int, at, delay time.Duration) event {
		if i%2 == 0 || delay <= 2*margin {
			return event{}
		}
		next := upTo(r, span)
		return event{at + upTo(r, delay-2*margin), i, func(s *subject, e engines.Engine, start time.Time) {
			s.resetTo(next, e, start)
		}}
	}
}
