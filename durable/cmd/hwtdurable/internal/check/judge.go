package check

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/hashedwheel/hwt/durable"
)

const (
	claimAhead = int64(time.Second) // the time before its due time from which on an entry is claimed
	hiccup     = int64(time.Second) // the longest pause of a worker without a fault
)

// Judge judges one run.
type Judge struct {
	Tolerance time.Duration // by which a firing may be early
	Full      bool          // the store may reject operations
	Room      bool          // but only those that add an entry
}

// Verdict is the result of a judgment.
type Verdict struct {
	Keys, Operations, Unknown, Rejected, Firings, Repeats int
	Limited                                               int // firings of entries with NotAfter
	Occurrences                                           int // of recurring entries
	Undecided                                             int // keys with a judgment that took too long
	Violations                                            []string
}

// trial collects the histories of all keys.
type trial struct {
	Judge
	verdict Verdict
	history map[string][]porcupine.Operation
	open    map[string]map[int64]Record // intents without a known outcome, by journal
	listed  map[string]int64            // time of the final list of dead letters, by key

	occurrences []Firing             // of recurring entries
	stored      map[uint64]int64     // begin of the call that stored a generation
	runs        map[string][]*run    // handlers of keys that are timed
	cut         map[handlerCall]bool // handlers that the end of their contexts ended
	pauses      []paused
	limits      []limited
}

// gaps returns violations for all that must not be missing in a whole run.
func (v Verdict) gaps() (all []string) {
	for name, n := range map[string]int{"operation": v.Operations - v.Unknown - v.Rejected, "firing": v.Firings, "occurrence": v.Occurrences} {
		if n <= 0 {
			all = append(all, "no "+name+" was judged")
		}
	}
	if v.Firings > 1000 && v.Limited == 0 {
		all = append(all, "no entry with a NotAfter fired")
	}
	return all
}

// Read reads the journals and firings in a folder.
func (j Judge) Read(dir string, faults []Fault) (Verdict, error) {
	t := &trial{Judge: j, history: make(map[string][]porcupine.Operation), listed: make(map[string]int64),
		open: make(map[string]map[int64]Record), stored: make(map[uint64]int64), runs: make(map[string][]*run), cut: make(map[handlerCall]bool)}
	if err := readLines(filepath.Join(dir, "journal-*"), t.read); err != nil {
		return t.verdict, err
	}
	for path := range t.open {
		t.end(path, math.MaxInt64)
	}
	err := readLines(filepath.Join(dir, pausesFile), func(_ string, p paused) { t.pauses = append(t.pauses, p) })
	unread := readLines(filepath.Join(dir, limitsFile), func(_ string, l limited) { t.limits = append(t.limits, l) })
	if err := errors.Join(err, unread, t.firings(dir, faults), t.series(dir, faults)); err != nil {
		return t.verdict, err
	}
	t.handlers(faults)
	for _, key := range slices.Sorted(maps.Keys(t.history)) {
		t.key(key, t.history[key])
	}
	return t.verdict, nil
}

// read takes a line of a journal.
func (t *trial) read(path string, r Record) {
	if t.open[path] == nil {
		t.open[path] = make(map[int64]Record)
	}
	if r.Over {
		t.end(path, r.At)
		return
	}
	if r.Kind == list {
		t.listed[r.Key] = r.At
	}
	if r.Kind != "" {
		t.open[path][r.Number] = r
		return
	}
	intent, known := t.open[path][r.Number]
	if !known {
		t.violated("%s: an outcome without an intent: %+v", path, r)
		return
	}
	switch {
	case r.Outcome == Failed:
		t.violated("%s: %+v failed: %s", path, intent, r.Error)
		fallthrough
	case r.Outcome == Unknown:
		return
	case r.Outcome == Rejected:
		t.verdict.Rejected++
		adds := intent.Kind == Set || intent.Kind == SetMany || intent.Kind == SetIf || intent.Kind == Create || intent.Kind == Requeue
		if !t.Full || t.Room && !adds {
			t.violated("%s: %+v was rejected, though there is room for it", path, intent)
		}
	case r.Outcome == OK && filepath.Base(path) == reader && intent.Kind == Get && r.Due <= intent.At:
		t.violated("%s is pending at the end, %v overdue", intent.Key, time.Duration(intent.At-r.Due))
	}
	delete(t.open[path], r.Number)
	t.add(intent, r, r.At)
}

func (t *trial) violated(format string, args ...any) {
	t.verdict.Violations = append(t.verdict.Violations, fmt.Sprintf(format, args...))
}

func (t *trial) add(intent, outcome Record, end int64) {
	t.verdict.Operations++
	if outcome.Generation != 0 {
		t.stored[outcome.Generation] = max(intent.At, t.stored[outcome.Generation])
	}
	t.history[intent.Key] = append(t.history[intent.Key], porcupine.Operation{
		Input: intent, Output: outcome, Call: intent.At, Return: end})
}

// end ends the operations of a journal that have no known outcome.
func (t *trial) end(path string, at int64) {
	for _, intent := range t.open[path] {
		t.verdict.Unknown++
		if intent.Kind != Get {
			t.add(intent, Record{Outcome: Unknown, At: at}, at)
		}
	}
	t.open[path] = nil
}

// attempt names a firing: a revived dead letter keeps its ID.
type attempt struct {
	id         string
	generation uint64
}

// firings judges the files of the workers, and adds each first firing to its history.
func (t *trial) firings(dir string, faults []Fault) error {
	byAttempt := make(map[attempt][]Firing)
	last := make(map[string]Firing) // of the greatest generation, by ID
	err := readLines(filepath.Join(dir, "firings-*"), func(_ string, f Firing) {
		if t.timed(f); f.Begin != 0 {
			return
		}
		byAttempt[attempt{f.ID, f.Generation}] = append(byAttempt[attempt{f.ID, f.Generation}], f)
		t.fired(f, faults)
		other, known := last[f.ID]
		if known && other.Key != f.Key {
			t.violated("%s and %s have the ID %s", other.Key, f.Key, f.ID)
		}
		if !known || other.Generation < f.Generation {
			last[f.ID] = f
		}
	})
	for _, all := range byAttempt {
		t.repeats(all, faults)
		switch first := all[0]; {
		case isProbe(first.Key): // its fault checks whether it fires
		case isRecurring(first.Key):
			t.occurrences = append(t.occurrences, first)
		default:
			t.attempt(all, last[first.ID], faults)
		}
	}
	return err
}

// fired judges the time and the payload of one firing.
func (t *trial) fired(f Firing, faults []Fault) {
	if early := time.Duration(f.Due - f.At); early > t.Tolerance || f.Late < 0 {
		t.violated("%s fired %v early", f.Key, max(early, -time.Duration(f.Late)))
	}
	if end := f.NotAfter.UnixNano(); !f.NotAfter.IsZero() && (f.Due+f.Late > end || f.At > end+hiccup &&
		!slices.ContainsFunc(faults, func(x Fault) bool { return x.hits(f.Worker, f.claimed(), f.At) })) {
		t.violated("%s fired %v after its NotAfter", f.Key, time.Duration(f.At-end))
	}
	if isRecurring(f.Key) && f.Payload != sum(durable.Entry{Payload: seriesPayload(f.Key)}) {
		t.violated("%s fired with another payload", f.Key)
	}
}

// attempt adds the first firing of an attempt to its history, and the dead letter that may follow.
// last is the firing of the greatest generation with the same ID.
func (t *trial) attempt(all []Firing, last Firing, faults []Fault) {
	first := all[0]
	t.verdict.Firings += len(all)
	if !first.NotAfter.IsZero() {
		t.verdict.Limited++
	}
	ops := []porcupine.Operation{{
		Input:  Record{Kind: fire, Key: first.Key, At: first.Due - claimAhead},
		Output: Record{Outcome: OK, At: first.At, Due: first.Due, NotAfter: first.NotAfter, Payload: first.Payload, Generation: first.Generation},
		Call:   first.claimed(), Return: first.At}}
	begin, end, outcome := first.At, cmp.Or(t.listed[first.Key], math.MaxInt64)-1, OK
	lost := func(f Fault) bool {
		return f.Waits && f.End >= first.claimed() || f.hits(all[len(all)-1].Worker, first.claimed(), math.MaxInt64)
	}
	expires := !first.NotAfter.IsZero() && slices.ContainsFunc(faults, lost) // perhaps, on another worker
	if expires {
		begin = min(begin, first.NotAfter.UnixNano()-clockError)
	}
	if expires && !first.GaveUp {
		outcome = Unknown
	}
	if !expires && !first.GaveUp && last.Generation > first.Generation {
		t.violated("%s: %+v was no dead letter, and %+v has its ID", first.Key, first, last)
	}
	if expires || first.GaveUp {
		ops = append(ops, porcupine.Operation{Input: Record{Kind: bury, Key: first.Key, If: first.Generation, Payload: first.Payload},
			Output: Record{Outcome: outcome, At: end}, Call: begin, Return: end})
	}
	t.history[first.Key] = append(t.history[first.Key], ops...)
}

// repeats sorts the firings of one attempt, and judges those after the first.
func (t *trial) repeats(all []Firing, faults []Fault) {
	slices.SortFunc(all, func(a, b Firing) int { return cmp.Compare(a.At, b.At) })
	for i, again := range all[1:] {
		t.verdict.Repeats++
		before := all[i]
		before.Cut = t.cut[handlerCall{before.ID, before.Worker, before.At}]
		if again.Due != before.Due || again.Payload != before.Payload {
			t.violated("one generation has two versions: %+v and %+v", before, again)
		} else if !slices.ContainsFunc(faults, func(f Fault) bool { return f.explains(before, again) }) {
			t.violated("%s fired again without a fault in between: %+v and %+v", again.Key, before, again)
		}
	}
}

// explains reports whether a fault may be the reason why an entry fired again: the fault
// hit the worker of the first firing before the acknowledgement, or the fault began earlier
// and hit the second worker, which had claimed the entry first and stalled.
func (f Fault) explains(before, again Firing) bool {
	if f.Waits && (isRecurring(before.Key) || before.GaveUp || before.Cut) {
		f.Hit = nil
	}
	return f.hits(before.Worker, before.claimed(), again.At) || f.hits(again.Worker, before.claimed(), before.At)
}

// hits reports whether a fault may have affected a worker between two times.
func (f Fault) hits(worker int, from, to int64) bool {
	return f.End >= from && f.Begin <= to && (f.Hit == nil || slices.Contains(f.Hit, worker))
}

// claimed is the earliest time of the claim.
func (f Firing) claimed() int64 { return min(f.Due, f.At) - claimAhead }

// key judges the history of one key.
func (t *trial) key(key string, ops []porcupine.Operation) {
	t.verdict.Keys++
	switch porcupine.CheckOperationsTimeout(model, ops, 10*time.Second) {
	case porcupine.Illegal:
		slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		var text strings.Builder
		fmt.Fprintf(&text, "%s: no order explains these outcomes:", key)
		for _, op := range ops[max(0, len(ops)-40):] {
			fmt.Fprintf(&text, "\n  %d..%d %+v -> %+v", op.Call, op.Return, op.Input, op.Output)
		}
		t.violated("%s", text.String())
	case porcupine.Unknown:
		t.verdict.Undecided++
	}
}
