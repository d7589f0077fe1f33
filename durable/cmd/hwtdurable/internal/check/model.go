package check

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"
)

// A key's history must be linearizable: there is an order of its operations and firings,
// each at a moment between its begin and its end, in which every one has its outcome. A
// firing takes the entry at its claim. A handler that gives up leaves a dead letter.

// entry is the state of a key.
type entry struct {
	version
	letters []Letter // in the order of generations; states share them
}

// version is a pending entry, or zero.
type version struct {
	pending    bool
	due        int64  // 0 if unknown
	generation uint64 // 0 if unknown
	payload    uint32
}

func (s entry) equal(other entry) bool {
	return s.version == other.version && slices.Equal(s.letters, other.letters)
}

// letter returns the index of the dead letter of a generation, or -1.
func (s entry) letter(generation uint64) int {
	return slices.IndexFunc(s.letters, func(l Letter) bool { return l.Generation == generation })
}

func (s entry) with(l Letter) entry {
	s.letters = append(slices.Clip(s.letters), l)
	slices.SortFunc(s.letters, func(a, b Letter) int { return cmp.Compare(a.Generation, b.Generation) })
	return s
}

func (s entry) without(i int) entry {
	s.letters = slices.Delete(slices.Clone(s.letters), i, i+1)
	return s
}

// step returns the states to which an operation with its outcome may lead.
func step(s entry, intent, outcome Record) (out []entry) {
	switch {
	case intent.Tx == rollback, outcome.Outcome == Rejected, outcome.Outcome == Unknown, s.denies(intent, outcome.Outcome):
		out = append(out, s)
	}
	if next, ok := s.after(intent, outcome); ok && intent.Tx != rollback && (outcome.Outcome == OK || outcome.Outcome == Unknown) {
		out = append(out, next)
	}
	return out
}

// after returns the state after a successful operation, if that can succeed.
func (s entry) after(intent, outcome Record) (next entry, ok bool) {
	same := s.pending && (intent.If == 0 || s.generation == 0 || s.generation == intent.If)
	fits := same && (outcome.Outcome == Unknown || s.fits(outcome))
	letter := s.letter(intent.If)
	next = s
	switch intent.Kind {
	case Set, Create, SetIf:
		next.version = version{true, intent.Due, outcome.Generation, intent.Payload}
		return next, intent.Kind == Set || intent.Kind == Create && !s.pending || intent.Kind == SetIf && same
	case Move, MoveIf:
		next.due, next.generation = intent.Due, outcome.Generation
		return next, same
	case Get:
		next.due, next.generation = cmp.Or(s.due, outcome.Due), cmp.Or(s.generation, outcome.Generation)
		return next, fits
	case Cancel, CancelIf, fire:
		next.version = version{}
		return next, fits
	case Requeue:
		if s.pending || letter < 0 {
			return s, false
		}
		next = s.without(letter)
		next.version = version{true, outcome.Due, outcome.Generation, s.letters[letter].Payload}
		return next, outcome.Outcome == Unknown || next.fits(outcome)
	case Discard:
		if letter < 0 {
			return s, false
		}
		return s.without(letter), true
	case bury:
		return s.with(Letter{intent.If, intent.Payload}), true
	case list:
		return s, slices.Equal(s.letters, outcome.Letters)
	}
	return s, false
}

// fits reports whether an answer names the version, as far as both are known.
func (v version) fits(answer Record) bool {
	return (v.due == 0 || answer.Due == 0 || v.due == answer.Due) && v.payload == answer.Payload &&
		(v.generation == 0 || answer.Generation == 0 || v.generation == answer.Generation)
}

// denies reports whether an operation has this outcome, without an effect, in s.
func (s entry) denies(intent Record, outcome Outcome) bool {
	letter := intent.Kind == Requeue || intent.Kind == Discard
	switch outcome {
	case Exists:
		return s.pending && (intent.Kind == Create || intent.Kind == Requeue && s.letter(intent.If) >= 0)
	case Absent:
		return letter && s.letter(intent.If) < 0 || !letter && !s.pending && intent.Kind != Set && intent.Kind != Create
	case Conflict:
		return !letter && intent.If != 0 && s.pending && s.generation != intent.If
	}
	return false
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
