package check

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A handler gives up at 10 s, and the dead letter is revived at 20 s.
var (
	gaveUp  = Firing{Key: "k", Due: 10 * sec, Generation: 5, ID: "5-1", At: 10 * sec, GaveUp: true}
	revived = Firing{Key: "k", Due: 20 * sec, Generation: 6, ID: "5-1", At: 20 * sec}
	revive  = op(2, 19*sec, 21*sec, Record{Kind: Requeue, If: 5}, Record{Outcome: OK, Due: 20 * sec, Generation: 6})
)

func listed(generations ...uint64) []Record {
	var letters []Letter
	for _, g := range generations {
		letters = append(letters, Letter{Generation: g})
	}
	return op(10, 92*sec, 93*sec, Record{Kind: list}, Record{Outcome: OK, Letters: letters})
}

func TestJudgeKnowsDeadLetters(t *testing.T) {
	again := op(3, 19*sec, 21*sec, Record{Kind: Requeue, If: 5}, Record{Outcome: Absent})
	for name, c := range map[string]struct {
		right   bool
		records []Record
		firings []Firing
	}{
		"left":                       {true, concat(setAt10, gone, listed(5)), []Firing{gaveUp}},
		"revived by one of two":      {true, concat(setAt10, revive, again, gone, listed()), []Firing{gaveUp, revived}},
		"revived without an answer":  {true, concat(setAt10, revive[:1], gone, listed()), []Firing{gaveUp, revived}},
		"discarded":                  {true, concat(setAt10, op(2, 19*sec, 20*sec, Record{Kind: Discard, If: 5}, Record{Outcome: OK}), gone, listed()), []Firing{gaveUp}},
		"beside an entry":            {true, concat(setAt10, op(2, 11*sec, 12*sec, Record{Kind: Set, Due: 30 * sec}, Record{Outcome: OK, Generation: 7}), op(3, 19*sec, 20*sec, Record{Kind: Requeue, If: 5}, Record{Outcome: Exists}), listed(5)), []Firing{gaveUp, {Key: "k", Due: 30 * sec, Generation: 7, ID: "7-1", At: 30 * sec}}},
		"lost":                       {false, concat(setAt10, gone, listed()), []Firing{gaveUp}},
		"left, though revived":       {false, concat(setAt10, revive, gone, listed(5)), []Firing{gaveUp, revived}},
		"revived twice":              {false, concat(setAt10, revive, op(3, 19*sec, 21*sec, Record{Kind: Requeue, If: 5}, Record{Outcome: OK, Due: 20 * sec, Generation: 7}), gone, listed()), []Firing{gaveUp, revived, {Key: "k", Due: 20 * sec, Generation: 7, ID: "5-1", At: 20 * sec}}},
		"revived, but never fired":   {false, concat(setAt10, revive, gone, listed()), []Firing{gaveUp}},
		"revived before it was dead": {false, concat(setAt10, op(2, 3*sec, 4*sec, Record{Kind: Requeue, If: 5}, Record{Outcome: OK, Due: 3 * sec, Generation: 6}), gone, listed()), []Firing{gaveUp, revived}},
	} {
		t.Run(name, func(t *testing.T) {
			v := story{records: map[string][]Record{"a": c.records}, firings: c.firings}.judge(t)
			require.Equal(t, c.right, len(v.Violations) == 0, v.Violations)
		})
	}
}

func TestJudgeOfFullStoresWantsRoomForCancel(t *testing.T) {
	for kind, violations := range map[Kind]int{Set: 0, Create: 0, Requeue: 0, Cancel: 1, Move: 1} {
		rejected := op(2, 3*sec, 4*sec, Record{Kind: kind}, Record{Outcome: Rejected})
		s := story{records: map[string][]Record{"a": concat(setAt10, rejected, gone)}, firings: []Firing{fired}}
		require.Len(t, s.judgeBy(t, Judge{Tolerance: 2, Full: true, Room: true}).Violations, violations, kind)
		require.Empty(t, s.judgeBy(t, Judge{Tolerance: 2, Full: true}).Violations)
		require.Len(t, s.judge(t).Violations, 1)
	}
}

func TestJudgeOfBurstsFindsEachDifference(t *testing.T) {
	const dead, alive = 1, 2
	a, b := Firing{Key: burstKey(0), Due: 10 * sec, ID: "1", At: 11 * sec, Worker: dead}, Firing{Key: burstKey(1), Due: 10 * sec, ID: "2", At: 10 * sec, Worker: alive}
	again, twice, soon, other, renamed, early := a, b, a, b, a, b
	again.At, again.Worker = 15*sec, alive
	twice.At, soon.Worker, other.ID, early.At = 15*sec, alive, "1", 9*sec
	renamed.ID, renamed.At, renamed.Worker = "3", 15*sec, alive
	for name, c := range map[string]struct {
		right   bool
		firings []Firing
	}{
		"once each":                 {true, []Firing{a, b}},
		"again after the kill":      {true, []Firing{a, b, again}},
		"again by a living process": {false, []Firing{a, b, twice}},
		"by two before the kill":    {false, []Firing{a, b, soon}},
		"lost":                      {false, []Firing{a}},
		"early":                     {false, []Firing{a, early}},
		"two keys of one ID":        {false, []Firing{a, other}},
		"again under another ID":    {false, []Firing{a, b, renamed}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, addLines(dir+"/firings-1", c.firings...))
			v, err := judgeBurst(dir, 2, 10*sec, killed{dead, 12 * sec})
			require.NoError(t, err)
			require.Equal(t, c.right, len(v.Violations) == 0, v.Violations)
		})
	}
}
