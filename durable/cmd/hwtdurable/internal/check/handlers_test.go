package check

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

// Two handlers of a serial key run from 10 s and from 12 s on.
func TestJudgeOfSerialKeys(t *testing.T) {
	begin := func(id string, worker int, at int64) Firing {
		return Firing{Key: serialPrefix + "k", Due: at, ID: id, At: at, Worker: worker}
	}
	end := func(f Firing, at int64, cut bool) Firing {
		f.Begin, f.At, f.Cut = f.At, at, cut
		return f
	}
	first, second := begin("1", 1, 10*sec), begin("2", 2, 12*sec)
	stop := func(worker int, from, to int64, stops bool) []Fault {
		return []Fault{{"SIGSTOP", from, to, []int{worker}, stops, false}}
	}
	for name, c := range map[string]struct {
		end    []Firing
		faults []Fault
		want   string
	}{
		"one after the other": {[]Firing{end(first, 12*sec, false), end(second, 13*sec, false)}, nil, ""},
		"at once":             {[]Firing{end(first, 12*sec+1, false), end(second, 13*sec, false)}, nil, "overlapped"},
		"one within the other": {[]Firing{end(first, 15*sec, false), end(second, 13*sec, false)},
			nil, "overlapped"},
		"beyond a stalled lease":      {[]Firing{end(first, 15*sec, false), end(second, 13*sec, false)}, stop(1, 11*sec, 14*sec, true), ""},
		"beside a later stall":        {[]Firing{end(first, 15*sec, false), end(second, 13*sec, false)}, stop(1, 12*sec+1, 14*sec, true), "overlapped"},
		"beside the stall of another": {[]Firing{end(first, 15*sec, false), end(second, 13*sec, false)}, stop(3, 11*sec, 14*sec, true), "overlapped"},
		"beside broken connections":   {[]Firing{end(first, 15*sec, false), end(second, 13*sec, false)}, stop(1, 11*sec, 14*sec, false), "overlapped"},
		"after the end of a lease":    {[]Firing{end(first, 12*sec+hiccup, true), end(second, 13*sec, false)}, nil, ""},
		"long after the end of one":   {[]Firing{end(first, 12*sec+hiccup+1, true), end(second, 13*sec, false)}, nil, "overlapped"},
		"after a kill":                {[]Firing{end(second, 13*sec, false)}, stop(1, 11*sec, 11*sec, true), ""},
		"without an end":              {[]Firing{end(first, 11*sec, false)}, nil, "did not end"},
	} {
		t.Run(name, func(t *testing.T) {
			j := &trial{runs: make(map[string][]*run), cut: make(map[handlerCall]bool)}
			for _, f := range append([]Firing{first, second}, c.end...) {
				j.timed(f)
			}
			j.handlers(c.faults)
			requireViolation(t, c.want, j.verdict.Violations)
		})
	}
}

// Handlers of entries with a limit of two, or of four per second, run from 10 s on. The limit holds from 10 s to 20 s.
func TestJudgeOfLimits(t *testing.T) {
	span := func(worker int, from, to int64) run {
		return run{Firing: Firing{Key: limitPrefix + "k", Group: "a", ID: fmt.Sprint(worker, from), At: from, Worker: worker}, end: to}
	}
	two, rate := durable.Limit{Running: 2}, durable.Limit{PerSecond: 4, Burst: 2}
	var fast []run // a handler every 200 ms
	for i := range int64(20) {
		fast = append(fast, span(1, 10*sec+i*sec/5, 10*sec+i*sec/5+1))
	}
	third := []run{span(1, 10*sec, 12*sec), span(2, 11*sec, 13*sec), span(3, 12*sec-1, 14*sec)}
	for name, c := range map[string]struct {
		limit  durable.Limit
		scope  durable.Scope
		runs   []run
		faults []Fault
		want   string
	}{
		"two":                      {two, durable.Scope{}, []run{span(1, 10*sec, 12*sec), span(2, 11*sec, 13*sec), span(3, 12*sec, 14*sec)}, nil, ""},
		"three":                    {two, durable.Scope{}, third, nil, "3 handlers overlapped (expected: up to 2)"},
		"two of three before":      {two, durable.Scope{}, []run{span(1, 8*sec, 12*sec), span(2, 9*sec, 13*sec), span(3, 10*sec, 14*sec)}, nil, "overlapped"},
		"three before the limit":   {two, durable.Scope{}, []run{span(1, 8*sec, 12*sec), span(2, 8*sec, 13*sec), span(3, 9*sec, 14*sec)}, nil, "no handler began"},
		"of another group":         {two, durable.Scope{Group: "b"}, third, nil, "no handler began"},
		"one of a dead process":    {two, durable.Scope{}, third, []Fault{{"SIGKILL", 11 * sec, 11 * sec, []int{1}, true, false}}, ""},
		"begun by a stalled one":   {two, durable.Scope{}, third, []Fault{{"SIGSTOP", 11 * sec, 13 * sec, []int{3}, true, false}}, ""},
		"stalled later":            {two, durable.Scope{}, third, []Fault{{"SIGSTOP", 12 * sec, 13 * sec, []int{3}, true, false}}, "overlapped"},
		"rate":                     {durable.Limit{PerSecond: 6, Burst: 2}, durable.Scope{}, fast, nil, ""},
		"too many in four seconds": {durable.Limit{PerSecond: 3, Burst: 1}, durable.Scope{}, fast, nil, "handlers began within"},
		"rate within a hiccup":     {rate, durable.Scope{}, fast[:6], nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			j := &trial{runs: make(map[string][]*run), limits: []limited{{c.scope, c.limit, 10 * sec, 20 * sec}}}
			for i, r := range c.runs {
				key := fmt.Sprint(limitPrefix, i)
				r.Key = key
				j.runs[key] = []*run{&r}
			}
			j.handlers(c.faults)
			requireViolation(t, c.want, j.verdict.Violations)
		})
	}
}

// A process stands still with the lock of the file: the leases of others end, and so do their handlers.
func TestLostLockExplainsARepeatIfAHandlerWasCut(t *testing.T) {
	end := fired
	end.Begin, end.At = end.At, 14*sec
	s := story{records: map[string][]Record{"a": concat(setAt10, gone)}, firings: []Firing{fired, end, again},
		faults: []Fault{{"SIGSTOP", 11 * sec, 14 * sec, []int{3}, true, true}}}
	require.NotEmpty(t, s.judge(t).Violations)
	s.firings[1].Cut = true
	require.Empty(t, s.judge(t).Violations)
}

// requireViolation requires one violation with a text, or no violation if the text is empty.
func requireViolation(t *testing.T, want string, violations []string) {
	if want == "" {
		require.Empty(t, violations)
		return
	}
	require.Len(t, violations, 1)
	require.Contains(t, violations[0], want)
}

// Entries of a group are paused from 10 s to 20 s.
func TestJudgeOfPauses(t *testing.T) {
	const during = "fired during a pause"
	for name, c := range map[string]struct {
		change func(f *Firing)
		want   string
	}{
		"due and fired during it": {func(*Firing) {}, during},
		"fired afterwards":        {func(f *Firing) { f.At = 20 * sec }, ""},
		"claimed before":          {func(f *Firing) { f.Due = 11 * sec }, ""},
		"set during it":           {func(f *Firing) { f.Due, f.Generation = 11*sec, 6 }, during},
		"of another group":        {func(f *Firing) { f.Group = "b" }, ""},
		"of another kind":         {func(f *Firing) { f.Key = "serial/k" }, ""},
		"end of a handler":        {func(f *Firing) { f.Begin = 9 * sec }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			j := &trial{runs: make(map[string][]*run), pauses: []paused{{durable.Scope{Prefix: jobPrefix, Group: "a"}, 10 * sec, 20 * sec}}, stored: map[uint64]int64{5: 9 * sec, 6: 11 * sec}}
			f := Firing{Key: "job/k", Group: "a", Due: 12 * sec, Generation: 5, ID: "5-1", At: 13 * sec, Worker: 1}
			c.change(&f)
			j.timed(f)
			requireViolation(t, c.want, j.verdict.Violations)
		})
	}
}
