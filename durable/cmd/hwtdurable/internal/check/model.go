package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// A key's history must be linearizable: there is an order of its operations and firings,
// each at a moment between its begin and its end, that explains every outcome. A firing
// takes the entry at the claim. A handler that gives up leaves a dead letter. A claim
// without a firing does so, too, after NotAfter.

// entry is the state of a key.
type entry struct {
	version
	letters []Letter // in the order of generations; states share them
	since   int64    // the time before which no operation ends
}

// version is a pending entry, or zero.
type version struct {
	pending    bool
	due        int64  // 0 if unknown
	generation uint64 // 0 if unknown
	notAfter   time.Time
	payload    uint32
	answered   int64 // the end of the call that stored it
}

func (s entry) equal(other entry) bool {
	return s.version == other.version && s.since == other.since && slices.Equal(s.letters, other.letters)
}

// lettersOf returns the indexes of the dead letters that may have a generation.
func (s entry) lettersOf(generation uint64) (found []int) {
	for i, l := range s.letters {
		switch l.Generation {
		case generation:
			return []int{i}
		case 0: // unknown
			found = append(found, i)
		}
	}
	return found
}

func (s entry) with(l Letter) entry {
	s.letters = append(slices.Clip(s.letters), l)
	slices.SortFunc(s.letters, func(a, b Letter) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Payload, b.Payload))
	})
	return s
}

// seen returns s after an operation that finds the i-th letter.
func (s entry) seen(i int) entry {
	s.since = max(s.since, s.letters[i].after)
	s.letters = slices.Clone(s.letters)
	s.letters[i].after = 0
	return s
}

func (s entry) without(i int) entry {
	s = s.seen(i)
	s.letters = slices.Delete(s.letters, i, i+1)
	return s
}

// clockError bounds the error of a worker's estimate of the database's clock.
const clockError = int64(5 * time.Millisecond)

// orExpired returns s, and s after the claim of an entry that will be too late to fire.
func (s entry) orExpired() []entry {
	if !s.pending || s.notAfter.IsZero() {
		return []entry{s}
	}
	expired := s.with(Letter{s.generation, s.payload, s.notAfter.UnixNano() - clockError})
	expired.version, expired.since = version{}, max(s.since, s.due-claimAhead)
	return []entry{s, expired}
}

// step returns the states to which an operation with its outcome may lead.
func step(s entry, intent, outcome Record) (out []entry) {
	for _, s := range s.orExpired() {
		var next []entry
		switch outcome.Outcome {
		case OK:
			next = s.after(intent, outcome)
		case Unknown:
			next = append(s.after(intent, outcome), s)
		default:
			next = s.denied(intent, outcome.Outcome)
		}
		if intent.Tx == rollback && len(next) > 0 { // the answer is right, and has no effect
			next = []entry{s}
		}
		out = append(out, next...)
	}
	return slices.DeleteFunc(out, func(s entry) bool { return s.since > outcome.At })
}

// after returns the states after a successful operation, if that can succeed.
func (s entry) after(intent, outcome Record) (out []entry) {
	same := s.pending && (intent.If == 0 || s.generation == 0 || s.generation == intent.If)
	fits := same && (outcome.Outcome == Unknown || s.fits(outcome))
	next, ok := s, false
	switch intent.Kind {
	case Set, SetMany, Create, SetIf:
		next.version = version{true, intent.Due, outcome.Generation, intent.NotAfter, intent.Payload, outcome.At}
		ok = intent.Kind == Set || intent.Kind == SetMany || intent.Kind == Create && !s.pending || intent.Kind == SetIf && same
	case Move, MoveIf:
		next.due, next.generation, next.answered = intent.Due, outcome.Generation, outcome.At
		ok = same && !s.forbids(intent)
	case Get:
		next.due, next.generation = cmp.Or(s.due, outcome.Due), cmp.Or(s.generation, outcome.Generation)
		ok = fits
	case Cancel, CancelIf, fire:
		next.version, ok = version{}, fits
	case CancelMany:
		next.version, ok = version{}, true
		if s.pending && s.answered >= intent.At { // the entry was stored in the meantime
			out = append(out, s)
		}
	case Requeue, Discard:
		for _, i := range s.lettersOf(intent.If) {
			next := s.without(i)
			if intent.Kind == Requeue {
				next.version = version{true, outcome.Due, outcome.Generation, time.Time{}, s.letters[i].Payload, outcome.At}
			}
			if intent.Kind == Discard || !s.pending && (outcome.Outcome == Unknown || next.fits(outcome)) {
				out = append(out, next)
			}
		}
	case bury:
		next, ok = s.with(Letter{intent.If, intent.Payload, 0}), true
	case list:
		for _, l := range outcome.Letters {
			found := next.lettersOf(l.Generation)
			i := slices.IndexFunc(found, func(i int) bool { return next.letters[i].Payload == l.Payload })
			if i < 0 {
				return nil
			}
			next = next.without(found[i])
		}
		ok = len(next.letters) == 0
		next.letters = s.letters
	}
	stores := slices.Contains([]Kind{Set, Create, SetIf, Move, MoveIf}, intent.Kind)
	if ok && (!stores || outcome.Outcome == Unknown || next.fits(outcome)) {
		out = append(out, next)
	}
	return out
}

// fits reports whether an answer names the version, as far as both are known.
func (v version) fits(answer Record) bool {
	return (v.due == 0 || answer.Due == 0 || v.due == answer.Due) && v.payload == answer.Payload && v.notAfter.Equal(answer.NotAfter) &&
		(v.generation == 0 || answer.Generation == 0 || v.generation == answer.Generation)
}

// forbids reports whether a move would be after NotAfter.
func (v version) forbids(move Record) bool {
	return !v.notAfter.IsZero() && move.Due > v.notAfter.UnixNano()
}

// denied returns s if an operation has this outcome, without an effect, in s.
func (s entry) denied(intent Record, outcome Outcome) (out []entry) {
	revives, moves := intent.Kind == Requeue, intent.Kind == Move || intent.Kind == MoveIf
	letter := revives || intent.Kind == Discard
	ok := false
	switch outcome {
	case Rejected:
		ok = true
	case Exists:
		ok = s.pending && intent.Kind == Create
		for _, i := range s.lettersOf(intent.If) {
			if s.pending && revives {
				out = append(out, s.seen(i))
			}
		}
	case Absent:
		missing := !slices.ContainsFunc(s.letters, func(l Letter) bool { return l.Generation == intent.If && l.after == 0 })
		ok = letter && missing || !letter && !s.pending && !slices.Contains([]Kind{Set, SetMany, Create, CancelMany}, intent.Kind)
	case Conflict:
		ok = !letter && intent.If != 0 && s.pending && s.generation != intent.If
	case Invalid:
		ok = moves && s.pending && s.forbids(intent)
	}
	if ok {
		out = append(out, s)
	}
	return out
}

var model = func() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{entry{}} },
		Step: func(state, input, output any) (out []any) {
			for _, s := range step(state.(entry), input.(Record), output.(Record)) {
				out = append(out, s)
			}
			return out
		},
		Equal: func(a, b any) bool { return a.(entry).equal(b.(entry)) },
	}
	return m.ToModel()
}()
