package check

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/anishathalye/porcupine"
)

// A key's history must be linearizable: there is an order of its operations and firings,
// each at a moment between its begin and its end, in which every one has its outcome. A
// firing takes the entry at its claim. A handler that gives up leaves a dead letter.

// entry is the state of a key.
type entry struct {
	pending    bool
	due        int64  // 0 if unknown
	generation uint64 // 0 if unknown
	letters    letters
}

// letters are the generations of a key's dead letters in ascending order, 8 bytes each:
// states must be comparable.
type letters string

func lettersOf(generations []uint64) letters {
	slices.Sort(generations)
	var b []byte
	for _, g := range generations {
		b = binary.BigEndian.AppendUint64(b, g)
	}
	return letters(b)
}

func (l letters) all() (generations []uint64) {
	for b := []byte(l); len(b) > 0; b = b[8:] {
		generations = append(generations, binary.BigEndian.Uint64(b))
	}
	return generations
}

func (l letters) has(g uint64) bool     { return slices.Contains(l.all(), g) }
func (l letters) with(g uint64) letters { return lettersOf(append(l.all(), g)) }
func (l letters) without(g uint64) letters {
	return lettersOf(slices.DeleteFunc(l.all(), func(other uint64) bool { return other == g }))
}

// step returns the states to which an operation with its outcome may lead.
func step(s entry, intent, outcome Record) []entry {
	if intent.Tx == rollback {
		return []entry{s}
	}
	switch outcome.Outcome {
	case Rejected:
		return []entry{s}
	case Unknown:
		out := []entry{s}
		for _, done := range step(s, intent, Record{Outcome: OK, Due: unknownDue(s, intent)}) {
			done.generation = 0
			out = append(out, done)
		}
		return out
	case OK:
		if next, ok := s.after(intent, outcome); ok {
			return []entry{next}
		}
		return nil
	}
	if s.denies(intent, outcome.Outcome) {
		return []entry{s}
	}
	return nil
}

// unknownDue returns the due time that an operation without an answer would have
// returned, or 0.
func unknownDue(s entry, intent Record) int64 {
	if intent.Kind == Cancel || intent.Kind == CancelIf || intent.Kind == Get {
		return s.due
	}
	return intent.Due
}

// after returns the state after a successful operation, if that can succeed.
func (s entry) after(intent, outcome Record) (next entry, ok bool) {
	same := s.pending && (intent.If == 0 || s.generation == 0 || s.generation == intent.If)
	known := s.generation == 0 || outcome.Generation == 0 || s.generation == outcome.Generation
	known = known && (s.due == 0 || outcome.Due == 0 || s.due == outcome.Due)
	next = s
	switch intent.Kind {
	case Set, Create, SetIf, Move, MoveIf:
		next.pending, next.due, next.generation = true, intent.Due, outcome.Generation
		return next, intent.Kind == Set || intent.Kind == Create && !s.pending || intent.Kind != Create && same
	case Get:
		next.due, next.generation = cmp.Or(s.due, outcome.Due), cmp.Or(s.generation, outcome.Generation)
		return next, same && known
	case Cancel, CancelIf, fire:
		return entry{letters: s.letters}, same && known
	case Requeue:
		next = entry{true, outcome.Due, outcome.Generation, s.letters.without(intent.If)}
		return next, !s.pending && s.letters.has(intent.If)
	case Discard:
		next.letters = s.letters.without(intent.If)
		return next, s.letters.has(intent.If)
	case bury:
		next.letters = s.letters.with(intent.If)
		return next, true
	case list:
		return s, s.letters == lettersOf(outcome.Letters)
	}
	return s, false
}

// denies reports whether an operation has this outcome, without an effect, in s.
func (s entry) denies(intent Record, outcome Outcome) bool {
	letter := intent.Kind == Requeue || intent.Kind == Discard
	switch outcome {
	case Exists:
		return s.pending && (intent.Kind == Create || intent.Kind == Requeue && s.letters.has(intent.If))
	case Absent:
		return letter && !s.letters.has(intent.If) || !letter && !s.pending && intent.Kind != Set && intent.Kind != Create
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
		Equal: func(a, b any) bool { return a == b },
	}
	return m.ToModel()
}()
