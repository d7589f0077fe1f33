package check

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// story is a history made of journals and firings.
type story struct {
	records map[string][]Record
	firings []Firing
	faults  []Fault
}

// op is an operation of one client from one time to another.
func op(n int64, from, to int64, intent, outcome Record) []Record {
	intent.Number, intent.At, intent.Key = n, from, "k"
	outcome.Number, outcome.At = n, to
	return []Record{intent, outcome}
}

func (s story) judge(t *testing.T) Verdict { return s.judgeBy(t, Judge{Tolerance: 2}) }

func (s story) judgeBy(t *testing.T, j Judge) Verdict {
	dir := t.TempDir()
	for name, records := range s.records {
		l, err := openLines(filepath.Join(dir, "journal-"+name), false)
		require.NoError(t, err)
		for _, r := range records {
			require.NoError(t, l.add(r))
		}
		require.NoError(t, l.file.Close())
	}
	l, err := openLines(filepath.Join(dir, "firings-1"), true)
	require.NoError(t, err)
	for _, f := range s.firings {
		require.NoError(t, l.add(f))
	}
	require.NoError(t, l.file.Close())
	v, err := j.Read(dir, s.faults)
	require.NoError(t, err)
	return v
}

const sec = int64(time.Second)

var (
	setAt10 = op(1, 1*sec, 2*sec, Record{Kind: Set, Due: 10 * sec}, Record{Outcome: OK, Due: 10 * sec, Generation: 5})
	fired   = Firing{Key: "k", Due: 10 * sec, Generation: 5, ID: "5-1", At: 10 * sec}
	gone    = op(9, 90*sec, 91*sec, Record{Kind: Get}, Record{Outcome: Absent})
)

func concat(all ...[]Record) (out []Record) {
	for _, r := range all {
		out = append(out, r...)
	}
	return out
}

func TestJudgeAcceptsCorrectHistories(t *testing.T) {
	cancelled := op(2, 3*sec, 4*sec, Record{Kind: Cancel}, Record{Outcome: OK, Due: 10 * sec, Generation: 5})
	moved := op(2, 3*sec, 4*sec, Record{Kind: Move, Due: 20 * sec}, Record{Outcome: OK, Due: 20 * sec, Generation: 6})
	for name, s := range map[string]story{
		"fired":     {records: map[string][]Record{"a": concat(setAt10, gone)}, firings: []Firing{fired}},
		"cancelled": {records: map[string][]Record{"a": concat(setAt10, cancelled, gone)}},
		"moved": {records: map[string][]Record{"a": concat(setAt10, moved, gone)},
			firings: []Firing{{Key: "k", Due: 20 * sec, Generation: 6, ID: "6-1", At: 20 * sec}}},
		"cancel lost to the claim": {records: map[string][]Record{"a": concat(setAt10,
			op(2, 10*sec-5, 10*sec+5, Record{Kind: Cancel}, Record{Outcome: Absent}), gone)}, firings: []Firing{fired}},
		"set without an answer, stored":     {records: map[string][]Record{"a": setAt10[:1], "b": gone}, firings: []Firing{fired}},
		"set without an answer, not stored": {records: map[string][]Record{"a": setAt10[:1], "b": gone}},
		"repeat after a fault": {records: map[string][]Record{"a": concat(setAt10, gone)},
			firings: []Firing{fired, {Key: "k", Due: 10 * sec, Generation: 5, ID: "5-1", At: 15 * sec}},
			faults:  []Fault{{"kill", 11 * sec, 11 * sec}}},
	} {
		t.Run(name, func(t *testing.T) { require.Empty(t, s.judge(t).Violations) })
	}
}

func TestJudgeRejectsBrokenHistories(t *testing.T) {
	cancelled := op(2, 3*sec, 4*sec, Record{Kind: Cancel}, Record{Outcome: OK, Due: 10 * sec, Generation: 5})
	moved := op(2, 3*sec, 4*sec, Record{Kind: Move, Due: 20 * sec}, Record{Outcome: OK, Due: 20 * sec, Generation: 6})
	over := []Record{{At: 5 * sec, Over: true}}
	for want, s := range map[string]story{
		"lost":                        {records: map[string][]Record{"a": concat(setAt10, gone)}},
		"fired after a cancel":        {records: map[string][]Record{"a": concat(setAt10, cancelled, gone)}, firings: []Firing{fired}},
		"fired at the old time":       {records: map[string][]Record{"a": concat(setAt10, moved, gone)}, firings: []Firing{fired}},
		"fired early":                 {records: map[string][]Record{"a": concat(setAt10, gone)}, firings: []Firing{{Key: "k", Due: 10 * sec, Generation: 5, ID: "5-1", At: 10*sec - 3}}},
		"fired twice":                 {records: map[string][]Record{"a": concat(setAt10, gone)}, firings: []Firing{fired, {Key: "k", Due: 10 * sec, Generation: 5, ID: "5-2", At: 11 * sec}}},
		"repeat without a fault":      {records: map[string][]Record{"a": concat(setAt10, gone)}, firings: []Firing{fired, {Key: "k", Due: 10 * sec, Generation: 5, ID: "5-1", At: 15 * sec}}, faults: []Fault{{"kill", 16 * sec, 17 * sec}}},
		"never set":                   {records: map[string][]Record{"a": gone}, firings: []Firing{fired}},
		"create over a pending entry": {records: map[string][]Record{"a": concat(setAt10, op(2, 3*sec, 4*sec, Record{Kind: Create, Due: 10 * sec}, Record{Outcome: OK, Due: 10 * sec, Generation: 6}), gone)}, firings: []Firing{{Key: "k", Due: 10 * sec, Generation: 6, ID: "6-1", At: 10 * sec}}},
		"exists without an entry":     {records: map[string][]Record{"a": op(1, 1, 2, Record{Kind: Create, Due: sec}, Record{Outcome: Exists})}},
		"cancelled twice":             {records: map[string][]Record{"a": concat(setAt10, cancelled, op(3, 5*sec, 6*sec, Record{Kind: Cancel}, Record{Outcome: OK, Due: 10 * sec, Generation: 5}))}},
		"condition ignored":           {records: map[string][]Record{"a": concat(setAt10, op(2, 3*sec, 4*sec, Record{Kind: CancelIf, If: 4}, Record{Outcome: OK, Due: 10 * sec, Generation: 5}))}},
		"false conflict":              {records: map[string][]Record{"a": concat(setAt10, op(2, 3*sec, 4*sec, Record{Kind: CancelIf, If: 5}, Record{Outcome: Conflict}))}},
		"back from the dead":          {records: map[string][]Record{"a": concat(setAt10, cancelled, op(3, 50*sec, 51*sec, Record{Kind: Get}, Record{Outcome: OK, Due: 10 * sec, Generation: 5}))}},
		"another row":                 {records: map[string][]Record{"a": concat(setAt10, op(3, 5*sec, 6*sec, Record{Kind: Get}, Record{Outcome: OK, Due: 11 * sec, Generation: 5}))}},
		"effect after the end": {records: map[string][]Record{"a": concat(setAt10[:1], over), "b": concat(
			op(1, 6*sec, 7*sec, Record{Kind: Get}, Record{Outcome: Absent}))}, firings: []Firing{fired}},
		"outcome without an intent": {records: map[string][]Record{"a": setAt10[1:]}},
	} {
		t.Run(want, func(t *testing.T) { require.NotEmpty(t, s.judge(t).Violations) })
	}
}

func TestPostgresJudgeToleratesWallClockDrift(t *testing.T) {
	early := func(d time.Duration) []string {
		f := fired
		f.At -= int64(d)
		return story{records: map[string][]Record{"a": concat(setAt10, gone)}, firings: []Firing{f}}.judgeBy(t, postgresJudge).Violations
	}
	require.Empty(t, early(5*time.Millisecond))
	require.NotEmpty(t, early(6*time.Millisecond))
}

func TestJudgeCountsOperations(t *testing.T) {
	v := story{records: map[string][]Record{"a": concat(setAt10, gone, setAt10[:1])}, firings: []Firing{fired}}.judge(t)
	require.Equal(t, "1 2 1 1", fmt.Sprint(v.Keys, v.Operations-1, v.Unknown, v.Firings))
}

func TestJudgeFindsMissingOccurrences(t *testing.T) {
	for name, c := range map[string]struct {
		drop  func(at int64, attempt int) bool
		wants string
	}{
		"none":         {func(int64, int) bool { return false }, ""},
		"first":        {func(at int64, attempt int) bool { return at == 5*sec }, "no occurrence between"},
		"second":       {func(at int64, attempt int) bool { return at == 5*sec && attempt == 2 }, "was not repeated"},
		"all later":    {func(int64, int) bool { return false }, "no occurrence after"},
		"of the ended": {func(at int64, attempt int) bool { return at == 30*sec && attempt == 2 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l, err := openLines(filepath.Join(dir, seriesPrefix+"1"), false)
			require.NoError(t, err)
			for at := sec; at <= 30*sec; at += sec {
				for attempt := 1; attempt <= 2; attempt++ {
					if !c.drop(at, attempt) {
						require.NoError(t, l.add(occurrence{"series-0", at, fmt.Sprint(at), attempt}))
					}
				}
			}
			if name == "all later" {
				for attempt := 1; attempt <= 2; attempt++ {
					require.NoError(t, l.add(occurrence{"series-1", sec, "ended", attempt}))
				}
			}
			require.NoError(t, l.file.Close())
			v, err := Judge{}.Read(dir, nil)
			require.NoError(t, err)
			if c.wants == "" {
				require.Empty(t, v.Violations)
				require.Equal(t, 30, v.Occurrences)
				return
			}
			require.Len(t, v.Violations, 1)
			require.Contains(t, v.Violations[0], c.wants)
		})
	}
}
