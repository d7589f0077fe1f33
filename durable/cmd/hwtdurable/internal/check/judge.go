package check

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// A key's history must be linearizable: there is an order of its operations and firings,
// each at a moment between its begin and its end, in which every one has its outcome. A
// firing takes the entry at its claim.

// entry is the state of a key.
type entry struct {
	pending    bool
	due        int64
	generation uint64 // 0 if unknown
}

// step returns the states to which an operation with its outcome may lead.
func step(s entry, intent, outcome Record) []entry {
	if outcome.Outcome == Rejected {
		return []entry{s}
	}
	if outcome.Outcome == Unknown {
		out := []entry{s}
		for _, done := range step(s, intent, Record{Outcome: OK, Due: unknownDue(s, intent)}) {
			done.generation = 0
			out = append(out, done)
		}
		return out
	}
	same := s.pending && (intent.If == 0 || s.generation == 0 || s.generation == intent.If)
	var ok bool
	next := s
	switch outcome.Outcome {
	case OK:
		switch intent.Kind {
		case Set:
			ok = true
		case Create:
			ok = !s.pending
		case SetIf, Move, MoveIf:
			ok = same
		case Get, Cancel, CancelIf, fire:
			known := s.generation == 0 || outcome.Generation == 0 || s.generation == outcome.Generation
			ok = same && s.due == outcome.Due && known
		}
		switch intent.Kind {
		case Get:
			next.generation = cmp.Or(s.generation, outcome.Generation)
		case Cancel, CancelIf, fire:
			next = entry{}
		default:
			next = entry{true, intent.Due, outcome.Generation}
		}
	case Exists:
		ok = intent.Kind == Create && s.pending
	case Absent:
		ok = !s.pending && intent.Kind != Set && intent.Kind != Create
	case Conflict:
		ok = intent.If != 0 && s.pending && s.generation != intent.If
	}
	if !ok {
		return nil
	}
	return []entry{next}
}

// unknownDue returns the due time that an operation without an answer would have returned.
func unknownDue(s entry, intent Record) int64 {
	if intent.Kind == Cancel || intent.Kind == CancelIf || intent.Kind == Get {
		return s.due
	}
	return intent.Due
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

// claimAhead bounds how long before its due time an entry is claimed.
const claimAhead = int64(time.Second)

// Judge judges one run.
type Judge struct {
	Tolerance time.Duration // by which a firing may be early
	Patience  time.Duration // for one key
}

// Verdict is the result of a judgment.
type Verdict struct {
	Keys, Operations, Unknown, Firings, Repeats int
	Undecided                                   int // keys whose judgment took too long
	Violations                                  []string
	Late                                        []time.Duration
}

// Read reads the journals and firings in a folder.
func (j Judge) Read(dir string, faults []Fault) (Verdict, error) {
	history := make(map[string][]porcupine.Operation)
	var v Verdict
	open := make(map[string]map[int64]Record) // intents without an outcome, by journal
	add := func(intent, outcome Record, end int64) {
		v.Operations++
		history[intent.Key] = append(history[intent.Key], porcupine.Operation{
			Input: intent, Output: outcome, Call: intent.At, Return: end})
	}
	unknown := func(intent Record, end int64) {
		v.Unknown++
		if intent.Kind != Get {
			add(intent, Record{Outcome: Unknown}, end)
		}
	}
	late := make(map[string][]Record) // intents whose answer was an error, by journal
	err := readLines(filepath.Join(dir, "journal-*"), func(path string, r Record) {
		if open[path] == nil {
			open[path] = make(map[int64]Record)
		}
		switch {
		case r.Over:
			for _, intent := range open[path] {
				unknown(intent, r.At)
			}
			for _, intent := range late[path] {
				unknown(intent, r.At)
			}
			open[path], late[path] = nil, nil
		case r.Kind != "":
			open[path][r.Number] = r
		default:
			intent, known := open[path][r.Number]
			if !known {
				v.Violations = append(v.Violations, fmt.Sprintf("%s: an outcome without an intent: %+v", path, r))
				return
			}
			delete(open[path], r.Number)
			if r.Outcome == Unknown {
				late[path] = append(late[path], intent)
				return
			}
			add(intent, r, r.At)
		}
	})
	if err != nil {
		return v, err
	}
	for path := range open {
		for _, intent := range open[path] {
			unknown(intent, math.MaxInt64)
		}
	}
	for path := range late {
		for _, intent := range late[path] {
			unknown(intent, math.MaxInt64)
		}
	}
	if err := j.firings(dir, faults, history, &v); err != nil {
		return v, err
	}
	for _, key := range slices.Sorted(maps.Keys(history)) {
		j.key(key, history[key], &v)
	}
	return v, nil
}

// firings judges the files of the workers, and adds each first firing to its history.
func (j Judge) firings(dir string, faults []Fault, history map[string][]porcupine.Operation, v *Verdict) error {
	byID := make(map[string][]Firing)
	err := readLines(filepath.Join(dir, "firings-*"), func(_ string, f Firing) {
		v.Firings++
		byID[f.ID] = append(byID[f.ID], f)
		if early := time.Duration(f.Due - f.At); early > j.Tolerance {
			v.Violations = append(v.Violations, fmt.Sprintf("%s fired %v early", f.Key, early))
		}
		v.Late = append(v.Late, time.Duration(f.At-f.Due))
	})
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		all := byID[id]
		slices.SortFunc(all, func(a, b Firing) int { return cmp.Compare(a.At, b.At) })
		first := all[0]
		for _, again := range all[1:] {
			v.Repeats++
			if again.Key != first.Key || again.Due != first.Due {
				v.Violations = append(v.Violations, fmt.Sprintf("two entries have the ID %s: %+v and %+v", id, first, again))
			} else if !explained(faults, first, again) {
				v.Violations = append(v.Violations, fmt.Sprintf("%s fired again without a fault in between: %+v and %+v", first.Key, first, again))
			}
		}
		history[first.Key] = append(history[first.Key], porcupine.Operation{
			Input:  Record{Kind: fire, Key: first.Key, At: first.Due - claimAhead},
			Output: Record{Outcome: OK, Due: first.Due, Generation: first.Generation},
			Call:   min(first.Due, first.At) - claimAhead, Return: first.At})
	}
	return err
}

// explained reports whether a fault lies between the claim of the first firing and the
// second one.
func explained(faults []Fault, first, again Firing) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool {
		return f.Begin <= again.At && f.End >= min(first.Due, first.At)-claimAhead
	})
}

// key judges the history of one key.
func (j Judge) key(key string, ops []porcupine.Operation, v *Verdict) {
	v.Keys++
	switch porcupine.CheckOperationsTimeout(model, ops, cmp.Or(j.Patience, 10*time.Second)) {
	case porcupine.Illegal:
		slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		var text strings.Builder
		fmt.Fprintf(&text, "%s: no order explains these outcomes:", key)
		for _, op := range ops[max(0, len(ops)-40):] {
			fmt.Fprintf(&text, "\n  %d..%d %+v -> %+v", op.Call, op.Return, op.Input, op.Output)
		}
		v.Violations = append(v.Violations, text.String())
	case porcupine.Unknown:
		v.Undecided++
	}
}

// reader is the number of the journal that holds the final reads.
const reader = "journal-reader"

// writeReads adds reads of all keys to a folder: entries are those that are pending.
func writeReads(dir string, keys []string, begin int64, entries map[string]Record) error {
	l, err := openLines(filepath.Join(dir, reader), false)
	if err != nil {
		return err
	}
	defer l.file.Close()
	for i, key := range keys {
		n := begin + int64(i)
		intent := Record{Number: n, At: begin, Kind: Get, Key: key}
		outcome := Record{Number: n, At: now(), Outcome: Absent}
		if e, ok := entries[key]; ok {
			outcome.Outcome, outcome.Due, outcome.Generation = OK, e.Due, e.Generation
		}
		if err := l.add(intent); err != nil {
			return err
		}
		if err := l.add(outcome); err != nil {
			return err
		}
	}
	return nil
}
