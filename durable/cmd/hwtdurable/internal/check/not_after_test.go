package check

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An entry that is due at 10 s, and must not fire after 12 s.
func TestJudgeKnowsNotAfter(t *testing.T) {
	until := time.Unix(12, 0).UTC()
	set := op(1, 1*sec, 2*sec, Record{Kind: Set, Due: 10 * sec, NotAfter: until}, Record{Outcome: OK, Due: 10 * sec, Generation: 5, NotAfter: until})
	on := Firing{Due: 10 * sec, Generation: 5, ID: "5-1", At: 11 * sec, NotAfter: until, Late: sec, Worker: 1}
	late, stalled, unlimited := on, on, on
	late.Late = 2*sec + 1
	stalled.At = 13*sec + 2
	unlimited.NotAfter = time.Time{}
	move := func(due int64, outcome Outcome) []Record {
		return op(2, 3*sec, 4*sec, Record{Kind: Move, Due: due}, Record{Outcome: outcome, Due: due, Generation: 6, NotAfter: until})
	}
	moved := Firing{Due: 12 * sec, Generation: 6, ID: "6-1", At: 12 * sec, NotAfter: until, Worker: 1}
	absent := func(at int64) []Record { return op(3, at, at+1, Record{Kind: Get}, Record{Outcome: Absent}) }
	requeue := func(at int64, outcome Outcome) []Record {
		return op(4, at, at+1, Record{Kind: Requeue, If: 5}, Record{Outcome: outcome, Due: at, Generation: 7})
	}
	revived := Firing{Due: 13 * sec, Generation: 7, ID: "5-1", At: 13 * sec}
	get := op(3, 3*sec, 4*sec, Record{Kind: Get}, Record{Outcome: OK, Due: 10 * sec, Generation: 5})
	cancel := op(6, 5*sec, 6*sec, Record{Kind: Cancel}, Record{Outcome: OK, Due: 12*sec + 1, Generation: 6, NotAfter: until})
	again := op(5, 12*sec, 12*sec+1, Record{Kind: Set, Due: 80 * sec}, Record{Outcome: OK, Due: 80 * sec, Generation: 8})
	eighth := Firing{Due: 80 * sec, Generation: 8, ID: "8-1", At: 80 * sec}
	for name, c := range map[string]struct {
		right   bool
		records []Record
		firings []Firing
		faults  []Fault
	}{
		"fired":                     {true, concat(set, gone, listed()), []Firing{on}, nil},
		"fired late":                {false, concat(set, gone, listed()), []Firing{late}, nil},
		"fired late by the clock":   {false, concat(set, gone, listed()), []Firing{stalled}, []Fault{{"stop", 11 * sec, 12 * sec, []int{2}, false, false}}},
		"fired after a pause":       {true, concat(set, gone, listed()), []Firing{stalled}, []Fault{{"stop", 11 * sec, 12 * sec, []int{1}, false, false}}},
		"fired without the limit":   {false, concat(set, gone, listed()), []Firing{unlimited}, nil},
		"read without the limit":    {false, concat(set, get, gone, listed()), []Firing{on}, nil},
		"dead":                      {true, concat(set, gone, listed(5)), nil, nil},
		"neither":                   {false, concat(set, gone, listed()), nil, nil},
		"both":                      {false, concat(set, gone, listed(5)), []Firing{on}, nil},
		"both after a kill":         {true, concat(set, gone, listed(5)), []Firing{on}, []Fault{{"kill", 11 * sec, 12 * sec, []int{1}, false, false}}},
		"both after another's kill": {false, concat(set, gone, listed(5)), []Firing{on}, []Fault{{"kill", 11 * sec, 12 * sec, []int{2}, false, false}}},
		"dead without an answer":    {true, concat(set[:1], gone, listed(5)), nil, nil},
		"dead without a limit":      {false, concat(setAt10, gone, listed(5)), nil, nil},
		"claimed":                   {true, concat(set, absent(9*sec), gone, listed(5)), nil, nil},
		"claimed too soon":          {false, concat(set, absent(8*sec), gone, listed(5)), nil, nil},
		"revived":                   {true, concat(set, requeue(13*sec, OK), gone, listed()), []Firing{revived}, nil},
		"revived too soon":          {false, concat(set, requeue(11*sec, OK), gone, listed()), []Firing{{Due: 11 * sec, Generation: 7, ID: "5-1", At: 11 * sec}}, nil},
		"not dead yet":              {true, concat(set, requeue(13*sec, Absent), gone, listed(5)), nil, nil},
		"found, and absent later":   {false, concat(set, again, requeue(13*sec, Exists), requeue(14*sec, Absent), gone, listed(5)), []Firing{eighth}, nil},
		"found, and found later":    {true, concat(set, again, requeue(13*sec, Exists), requeue(14*sec, Exists), gone, listed(5)), []Firing{eighth}, nil},
		"moved":                     {true, concat(set, move(12*sec, OK), gone, listed()), []Firing{moved}, nil},
		"moved too far":             {false, concat(set, move(12*sec+1, OK), cancel, gone, listed()), nil, nil},
		"move denied":               {true, concat(set, move(12*sec+1, Invalid), gone, listed()), []Firing{on}, nil},
		"move denied wrongly":       {false, concat(set, move(12*sec, Invalid), gone, listed()), []Firing{on}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range c.firings {
				c.firings[i].Key = "k"
			}
			v := story{records: map[string][]Record{"a": c.records}, firings: c.firings, faults: c.faults}.judge(t)
			require.Equal(t, c.right, len(v.Violations) == 0, v.Violations)
		})
	}
}
