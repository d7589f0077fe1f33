package check

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

// A series of 30 occurrences, one per second, whose next one was pending at 31 s.
func TestJudgeOfSeries(t *testing.T) {
	right := func() (firings []Firing) {
		for at := sec; at <= 30*sec; at += sec {
			for attempt := 1; attempt <= 2; attempt++ {
				due := at + int64(attempt-1)*sec/10
				firings = append(firings, Firing{Key: "series/0", Due: due, Generation: uint64(due), ID: fmt.Sprint(at), At: due, Worker: 1, Attempt: attempt, Payload: sum(durable.Entry{Payload: []byte("series/0")})})
			}
		}
		return firings
	}
	file := []series{{"series/0", sec, 31 * sec, 31*sec - 1}}
	for name, c := range map[string]struct {
		change func(all []Firing) []Firing
		file   []series
		want   string
	}{
		"right":                  {func(all []Firing) []Firing { return all }, file, ""},
		"none":                   {func([]Firing) []Firing { return nil }, file, "of 1000000000 did not fire"},
		"without the first":      {func(all []Firing) []Firing { return all[2:] }, file, "of 1000000000 did not fire"},
		"without one":            {func(all []Firing) []Firing { return slices.Delete(all, 8, 10) }, file, "of 5000000000 did not fire"},
		"without the last":       {func(all []Firing) []Firing { return all[:58] }, file, "of 30000000000 did not fire"},
		"without a retry":        {func(all []Firing) []Firing { return slices.Delete(all, 9, 10) }, file, "of 5000000000 was not repeated"},
		"without the last retry": {func(all []Firing) []Firing { return all[:59] }, file, "of 30000000000 was not repeated"},
		"early":                  {func(all []Firing) []Firing { all[8].At -= 3; return all }, file, "early"},
		"early retry":            {func(all []Firing) []Firing { all[9].At -= 3; return all }, file, "early"},
		"repeat":                 {func(all []Firing) []Firing { return append(all, all[9]) }, file, "without a fault"},
		"third attempt": {func(all []Firing) []Firing {
			f := all[9]
			f.Generation, f.Attempt, f.At = f.Generation+1, 3, f.At+1
			return append(all, f)
		}, file, "repeated after a success"},
		"two retries": {func(all []Firing) []Firing {
			f := all[9]
			f.Generation, f.At = f.Generation+1, f.At+1
			return append(all, f)
		}, file, "repeated after a success"},
		"another payload": {func(all []Firing) []Firing { all[8].Payload++; return all }, file, "another payload"},
		"two rows":        {func(all []Firing) []Firing { f := all[8]; f.Generation, f.ID = 1, "1"; return append(all, f) }, file, "has the IDs"},
		"between":         {func(all []Firing) []Firing { f := all[8]; f.Due, f.ID = f.Due+1, "1"; f.At++; return append(all, f) }, file, "is no occurrence"},
		"after the end":   {func(all []Firing) []Firing { return all }, []series{{"series/0", sec, 30 * sec, 30 * sec}}, "is no occurrence"},
		"stopped":         {func(all []Firing) []Firing { return all }, []series{{"series/0", sec, 31 * sec, 42 * sec}}, "the next occurrence"},
		"lost":            {func(all []Firing) []Firing { return nil }, []series{{"series/0", sec, 0, 42 * sec}}, "the next occurrence"},
		"one-shot":        {func(all []Firing) []Firing { return all }, append(file, series{"series/once-0", sec, 2 * sec, 0}), "of 1000000000 did not fire"},
		"never set":       {func(all []Firing) []Firing { return all }, nil, "was never set"},
	} {
		t.Run(name, func(t *testing.T) {
			v := story{firings: c.change(right()), series: c.file}.judge(t)
			if c.want == "" {
				require.Empty(t, v.Violations)
				require.Equal(t, 30, v.Occurrences)
				return
			}
			require.NotEmpty(t, v.Violations)
			require.Contains(t, v.Violations[0], c.want)
		})
	}
}

// occurrence is an attempt of the occurrence at one second.
func occurrence(generation uint64, attempt int, at int64) Firing {
	return Firing{Key: "series/0", Due: at, Generation: generation, ID: "1", At: at, Worker: 1, Attempt: attempt, Payload: sum(durable.Entry{Payload: []byte("series/0")})}
}

// The transaction of the second one failed.
func TestFaultExplainsAThirdAttempt(t *testing.T) {
	s := story{series: []series{{"series/0", sec, 2 * sec, 2*sec - 1}},
		firings: []Firing{occurrence(1, 1, sec), occurrence(2, 2, 2*sec), occurrence(3, 3, 3*sec)}}
	require.NotEmpty(t, s.judge(t).Violations)
	s.faults = []Fault{{"connections cut", 2 * sec, 2 * sec, nil, false, false}}
	require.Empty(t, s.judge(t).Violations)
}

// The outcome of an occurrence's first attempt may be lost with the server.
func TestFaultExplainsTwoRetriesOfAnOccurrence(t *testing.T) {
	first := occurrence(1, 1, sec)
	again := first
	again.At = 5 * sec
	s := story{series: []series{{"series/0", sec, 2 * sec, 2*sec - 1}}, firings: []Firing{first, occurrence(2, 2, 2*sec), again, occurrence(3, 2, 6*sec)}}
	require.NotEmpty(t, s.judge(t).Violations)
	s.faults = []Fault{{"SIGKILL of PostgreSQL", 3 * sec, 4 * sec, nil, false, false}}
	require.Empty(t, s.judge(t).Violations)
}

func TestEveryOccurrenceNeedsItsEffect(t *testing.T) {
	s := &scene{dir: t.TempDir(), configs: []Config{{}}}
	require.NoError(t, addLines(filepath.Join(s.dir, "firings-1"), occurrence(1, 1, sec), occurrence(2, 2, 2*sec)))
	require.ErrorContains(t, s.effects(nil), "acknowledged without its effect")
	require.NoError(t, s.effects(map[string]bool{"1": true}))
}
