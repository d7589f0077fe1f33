package check

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJudgeKnowsCallsOfManyKeys(t *testing.T) {
	set := op(1, 1*sec, 2*sec, Record{Kind: SetMany, Due: 10 * sec}, Record{Outcome: OK})
	cancel := func(from, to int64, outcome Outcome) []Record {
		return op(2, from, to, Record{Kind: CancelMany}, Record{Outcome: outcome})
	}
	get := op(3, 5*sec, 6*sec, Record{Kind: Get}, Record{Outcome: OK, Due: 10 * sec, Generation: 5})
	move := op(4, 3*sec, 5*sec, Record{Kind: Move, Due: 10 * sec}, Record{Outcome: OK, Due: 10 * sec, Generation: 5})
	none := []Firing(nil)
	for name, c := range map[string]struct {
		right   bool
		records []Record
		firings []Firing
	}{
		"stored":                         {true, concat(set, gone), []Firing{fired}},
		"lost":                           {false, concat(set, gone), none},
		"unknown, stored":                {true, concat(set[:1], gone), []Firing{fired}},
		"unknown, not stored":            {true, concat(set[:1], gone), none},
		"absent":                         {false, concat(set, cancel(3*sec, 4*sec, Absent), gone), []Firing{fired}},
		"cancelled":                      {true, concat(set, cancel(3*sec, 4*sec, OK), gone), none},
		"left out":                       {false, concat(set, cancel(3*sec, 4*sec, OK), get, gone), []Firing{fired}},
		"left out after a lost answer":   {true, concat(set, cancel(3*sec, 4*sec, OK)[:1], get, gone), []Firing{fired}},
		"fired nevertheless":             {false, concat(set, cancel(3*sec, 4*sec, OK), gone), []Firing{fired}},
		"claimed meanwhile":              {true, concat(set, cancel(9*sec, 9*sec+1, OK), gone), []Firing{fired}},
		"moved meanwhile, left out":      {true, concat(set, cancel(3*sec, 4*sec, OK), move, gone), []Firing{fired}},
		"moved meanwhile, and cancelled": {true, concat(set, cancel(3*sec, 6*sec, OK), move, gone), none},
		"moved before, left out":         {false, concat(set, move, cancel(6*sec, 7*sec, OK), gone), []Firing{fired}},
		"nothing there":                  {true, concat(cancel(3*sec, 4*sec, OK), gone), none},
	} {
		t.Run(name, func(t *testing.T) {
			v := story{records: map[string][]Record{"a": c.records}, firings: c.firings}.judge(t)
			require.Equal(t, c.right, len(v.Violations) == 0, v.Violations)
		})
	}
}
