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

// plan sets the delays of the subjects and returns the events in order. Most delays are at
// most span. A tenth are 3.5 spans longer, more than a rotation of any wheel here.
func plan(subjects []subject, span, tick time.Duration) []event {
	r := rand.New(rand.NewPCG(3, 4))
	var events []event
	for i := range subjects {
		at := time.Duration(i) * subjectEvery
		delay := upTo(r, span)
		if r.IntN(10) == 0 {
			delay += 7 * span / 2
		}
		subjects[i].delay = delay
		events = append(events, event{at, i, (*subject).schedule})
		switch {
		case i%6 == 0: // at any time before the deadline
			events = append(events, event{at + upTo(r, delay), i, (*subject).cancel})
		case i%6 == 1: // about when it may fire
			events = append(events, event{at + max(0, delay+upTo(r, 3*tick)-tick), i, (*subject).cancel})
		case i%3 == 2 && delay > 2*margin:
			next := upTo(r, span)
			events = append(events, event{at + upTo(r, delay-2*margin), i, func(s *subject, e engines.Engine, start time.Time) {
				s.resetTo(next, e, start)
			}})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return events
}

func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return 1 + time.Duration(r.Int64N(int64(most)))
}
