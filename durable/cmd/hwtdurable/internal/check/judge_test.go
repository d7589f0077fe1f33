package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
)

// story is a history made of journals and firings.
type story struct {
	records map[string][]Record
	firings []Firing
	faults  []Fault
	series  []series
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
		require.NoError(t, addLines(filepath.Join(dir, "journal-"+name), records...))
	}
	require.NoError(t, addLines(filepath.Join(dir, "firings-1"), s.firings...))
	require.NoError(t, addLines(filepath.Join(dir, seriesFile), s.series...))
	v, err := j.Read(dir, s.faults)
	require.NoError(t, err)
	return v
}

const sec = int64(time.Second)

var (
	setAt10 = op(1, 1*sec, 2*sec, Record{Kind: Set, Due: 10 * sec}, Record{Outcome: OK, Due: 10 * sec, Generation: 5})
	fired   = Firing{Key: "k", Due: 10 * sec, Generation: 5, ID: "5-1", At: 10 * sec, Worker: 1}
	again   = Firing{Key: "k", Due: 10 * sec, Generation: 5, ID: "5-1", At: 15 * sec, Worker: 2}
	gone    = op(9, 90*sec, 91*sec, Record{Kind: Get}, Record{Outcome: Absent})
)

// pending is a final read that finds the entry of setAt10.
func pending(at int64) []Record {
	return op(1, at, at, Record{Kind: Get}, Record{Outcome: OK, Due: 10 * sec, Generation: 5})
}

func concat(all ...[]Record) (out []Record) {
	for _, r := range all {
		out = append(out, r...)
	}
	return out
}

func TestJudgeAcceptsCorrectHistories(t *testing.T) {
	cancelled := op(2, 3*sec, 4*sec, Record{Kind: Cancel}, Record{Outcome: OK, Due: 10 * sec, Generation: 5})
	moved := op(2, 3*sec, 4*sec, Record{Kind: Move, Due: 20 * sec}, Record{Outcome: OK, Due: 20 * sec, Generation: 6})
	once := map[string][]Record{"a": concat(setAt10, gone)}
	for name, s := range map[string]story{
		"fired":     {records: map[string][]Record{"a": concat(setAt10, gone)}, firings: []Firing{fired}},
		"cancelled": {records: map[string][]Record{"a": concat(setAt10, cancelled, gone)}},
		"moved": {records: map[string][]Record{"a": concat(setAt10, moved, gone)},
			firings: []Firing{{Key: "k", Due: 20 * sec, Generation: 6, ID: "6-1", At: 20 * sec}}},
		"cancel lost to the claim": {records: map[string][]Record{"a": concat(setAt10,
			op(2, 10*sec-5, 10*sec+5, Record{Kind: Cancel}, Record{Outcome: Absent}), gone)}, firings: []Firing{fired}},
		"set without an answer, stored":     {records: map[string][]Record{"a": setAt10[:1], "b": gone}, firings: []Firing{fired}},
		"set without an answer, not stored": {records: map[string][]Record{"a": setAt10[:1], "b": gone}},
		"repeat after a kill":               {records: once, firings: []Firing{fired, again}, faults: []Fault{{"kill", 11 * sec, 11 * sec, []int{1}, false, false}}},
		"repeat after a fault of all":       {records: once, firings: []Firing{fired, again}, faults: []Fault{{"failover", 11 * sec, 12 * sec, nil, false, false}}},
		"repeat by one that stood still": {records: once, firings: []Firing{fired, again},
			faults: []Fault{{"stop", 9 * sec, 14 * sec, []int{2}, false, false}}},
		"cancel rolled back": {records: map[string][]Record{"a": concat(setAt10,
			op(2, 3*sec, 4*sec, Record{Kind: Cancel, Tx: rollback}, Record{Outcome: OK, Due: 10 * sec, Generation: 5}), gone)}, firings: []Firing{fired}},
		"pending at the end": {records: map[string][]Record{"a": setAt10, "reader": pending(5 * sec)}},
	} {
		t.Run(name, func(t *testing.T) { require.Empty(t, s.judge(t).Violations) })
	}
}

func TestJudgeRejectsBrokenHistories(t *testing.T) {
	cancelled := op(2, 3*sec, 4*sec, Record{Kind: Cancel}, Record{Outcome: OK, Due: 10 * sec, Generation: 5})
	moved := op(2, 3*sec, 4*sec, Record{Kind: Move, Due: 20 * sec}, Record{Outcome: OK, Due: 20 * sec, Generation: 6})
	over := []Record{{At: 5 * sec, Over: true}}
	once := map[string][]Record{"a": concat(setAt10, gone)}
	for want, s := range map[string]story{
		"lost":                     {records: map[string][]Record{"a": concat(setAt10, gone)}},
		"fired after a cancel":     {records: map[string][]Record{"a": concat(setAt10, cancelled, gone)}, firings: []Firing{fired}},
		"fired at the old time":    {records: map[string][]Record{"a": concat(setAt10, moved, gone)}, firings: []Firing{fired}},
		"fired early":              {records: map[string][]Record{"a": concat(setAt10, gone)}, firings: []Firing{{Key: "k", Due: 10 * sec, Generation: 5, ID: "5-1", At: 10*sec - 3}}},
		"early by its own account": {records: once, firings: []Firing{{Key: "k", Due: 10 * sec, Generation: 5, ID: "5-1", At: 10 * sec, Late: -1}}},
		"two entries with one ID": {records: map[string][]Record{"a": concat(setAt10,
			op(2, 11*sec, 12*sec, Record{Kind: Set, Due: 20 * sec}, Record{Outcome: OK, Due: 20 * sec, Generation: 7}), gone)},
			firings: []Firing{fired, {Key: "k", Due: 20 * sec, Generation: 7, ID: "5-1", At: 20 * sec}}},
		"rolled back with a false answer": {records: map[string][]Record{"a": concat(
			op(1, 1*sec, 2*sec, Record{Kind: Cancel, Tx: rollback}, Record{Outcome: OK, Due: 10 * sec, Generation: 5}), gone)}},
		"rolled back with a false error": {records: map[string][]Record{"a": concat(setAt10,
			op(2, 3*sec, 4*sec, Record{Kind: Create, Tx: rollback, Due: 10 * sec}, Record{Outcome: Absent}), gone)}, firings: []Firing{fired}},
		"fired with another payload": {records: once, firings: []Firing{{Key: "k", Due: 10 * sec, Generation: 5, ID: "5-1", At: 10 * sec, Payload: 1}}},
		"fired twice":                {records: map[string][]Record{"a": concat(setAt10, gone)}, firings: []Firing{fired, {Key: "k", Due: 10 * sec, Generation: 5, ID: "5-2", At: 11 * sec}}},
		"repeat without a fault":     {records: once, firings: []Firing{fired, again}, faults: []Fault{{"kill", 16 * sec, 17 * sec, nil, false, false}}},
		"repeat after a fault of another": {records: once, firings: []Firing{fired, again},
			faults: []Fault{{"kill", 11 * sec, 11 * sec, []int{3}, false, false}}},
		"repeat by one that stood still later": {records: once, firings: []Firing{fired, again},
			faults: []Fault{{"stop", 11 * sec, 14 * sec, []int{2}, false, false}}},
		"second repeat without a fault": {records: once, firings: []Firing{fired, again, {Key: "k", Due: 10 * sec, Generation: 5, ID: "5-1", At: 20 * sec, Worker: 4}},
			faults: []Fault{{"kill", 11 * sec, 11 * sec, []int{1}, false, false}}},
		"overdue at the end": {records: map[string][]Record{"a": setAt10, "reader": pending(11 * sec)}},
		"error without a reason": {records: map[string][]Record{"a": concat(setAt10,
			op(2, 3*sec, 4*sec, Record{Kind: Get}, Record{Outcome: Failed}), gone)}, firings: []Firing{fired}},
		"rejected without a limit": {records: map[string][]Record{"a": concat(setAt10,
			op(2, 3*sec, 4*sec, Record{Kind: Set}, Record{Outcome: Rejected}), gone)}, firings: []Firing{fired}},
		"rolled back, but stored": {records: map[string][]Record{"a": concat(
			op(1, 1*sec, 2*sec, Record{Kind: Set, Tx: rollback, Due: 10 * sec}, Record{Outcome: OK, Due: 10 * sec, Generation: 5}), gone)}, firings: []Firing{fired}},
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

// The checksum 6 is that of the payload that the Set stored, at the due time of setAt10.
func TestJudgeComparesPayloadsWithTheAcceptedOne(t *testing.T) {
	set := op(1, 1*sec, 2*sec, Record{Kind: Set, Due: 10 * sec, Payload: 6}, Record{Outcome: OK, Due: 10 * sec, Generation: 5, Payload: 6})
	move := op(2, 3*sec, 4*sec, Record{Kind: Move, Due: 20 * sec}, Record{Outcome: OK, Due: 20 * sec, Generation: 6, Payload: 6})
	get := func(payload uint32) []Record {
		return op(3, 5*sec, 5*sec, Record{Kind: Get}, Record{Outcome: OK, Due: 10 * sec, Generation: 5, Payload: payload})
	}
	list := op(4, 92*sec, 93*sec, Record{Kind: list}, Record{Outcome: OK, Letters: []Letter{{Generation: 5, Payload: 6}}})
	requeue := op(5, 18*sec, 19*sec, Record{Kind: Requeue, If: 5}, Record{Outcome: OK, Due: 20 * sec, Generation: 6, Payload: 6})
	for name, c := range map[string]struct {
		right   bool
		records []Record
		firings []Firing
	}{
		"stored":                      {true, concat(set, get(6), gone), []Firing{{Due: 10 * sec, Generation: 5, Payload: 6}}},
		"shortened":                   {false, concat(set, gone), []Firing{{Due: 10 * sec, Generation: 5, Payload: 7}}},
		"read":                        {false, concat(set, get(7), gone), []Firing{{Due: 10 * sec, Generation: 5, Payload: 6}}},
		"stored by another answer":    {false, concat(op(1, 1*sec, 2*sec, set[0], Record{Outcome: OK, Due: 10 * sec, Generation: 5, Payload: 7}), gone), []Firing{{Due: 10 * sec, Generation: 5, Payload: 6}}},
		"moved by another answer":     {false, concat(set, op(2, 3*sec, 4*sec, move[0], Record{Outcome: OK, Due: 20 * sec, Generation: 6}), gone), []Firing{{Due: 20 * sec, Generation: 6, Payload: 6}}},
		"moved":                       {true, concat(set, move, gone), []Firing{{Due: 20 * sec, Generation: 6, Payload: 6}}},
		"of another call":             {false, concat(set[:1], gone), []Firing{{Due: 10 * sec, Generation: 5, Payload: 7}}},
		"dead":                        {true, concat(set, gone, list), []Firing{{Due: 10 * sec, Generation: 5, Payload: 6, GaveUp: true}}},
		"dead without the payload":    {false, concat(set, gone, listed(5)), []Firing{{Due: 10 * sec, Generation: 5, Payload: 6, GaveUp: true}}},
		"revived":                     {true, concat(set, requeue, gone), []Firing{{Due: 10 * sec, Generation: 5, Payload: 6, GaveUp: true}, {Due: 20 * sec, Generation: 6, Payload: 6}}},
		"revived without an answer":   {true, concat(set, requeue[:1], gone), []Firing{{Due: 10 * sec, Generation: 5, Payload: 6, GaveUp: true}, {Due: 20 * sec, Generation: 6, Payload: 6}}},
		"revived without the payload": {false, concat(set, requeue[:1], gone), []Firing{{Due: 10 * sec, Generation: 5, Payload: 6, GaveUp: true}, {Due: 20 * sec, Generation: 6}}},
		"repeated without it":         {false, concat(set, gone), []Firing{{Due: 10 * sec, Generation: 5, Payload: 6, Worker: 1}, {Due: 10 * sec, Generation: 5, Worker: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range c.firings {
				f := &c.firings[i]
				f.Key, f.ID, f.At = "k", "5-1", f.Due+int64(i)
			}
			v := story{records: map[string][]Record{"a": c.records}, firings: c.firings, faults: []Fault{{"kill", 10 * sec, 10 * sec, nil, false, false}}}.judge(t)
			require.Equal(t, c.right, len(v.Violations) == 0, v.Violations)
		})
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

func TestRunWithoutOperationsIsNoSuccess(t *testing.T) {
	r, err := (&scene{dir: t.TempDir()}).report(Judge{}, 0)
	require.NoError(t, err)
	require.Len(t, r.Violations, 4)
	require.Contains(t, r.Violations, "no fault had an effect")
	rich := Verdict{Operations: 9000, Firings: 2000, Occurrences: 90}
	require.Len(t, rich.gaps(), 1, "no entry with a NotAfter")
	rich.Limited = 1
	require.Empty(t, rich.gaps())
}

// A handler has returned, and its outcome is never stored.
func TestEntryThatKeepsFiringIsAnError(t *testing.T) {
	store, err := place.Place{File: filepath.Join(t.TempDir(), "store.db")}.Open(t.Context(), false)
	require.NoError(t, err)
	defer store.Close()
	e, err := store.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now()})
	require.NoError(t, err)
	require.NoError(t, awaitFired(t.Context(), store, "", 0), "the judge finds it pending")
	worker, err := store.Backend().Heartbeat(t.Context(), 0, time.Hour)
	require.NoError(t, err)
	_, err = store.Backend().Claim(t.Context(), worker, []backend.Claim{{Ref: backend.Ref{Key: "k", Generation: e.Generation}}})
	require.NoError(t, err)
	require.ErrorContains(t, awaitFired(t.Context(), store, "", 0), `"k" is still firing`)
}

// The other worker fires the entries.
func TestWorkerThatEndedIsAnError(t *testing.T) {
	dir := t.TempDir()
	where := place.Place{File: filepath.Join(dir, "store.db"), Lease: lease}
	worker := Config{Place: where, Dir: dir, Works: true}
	s := &scene{dir: dir, resolve: resolved, reads: where, configs: []Config{worker, worker}}
	defer s.end()
	require.NoError(t, s.startAll(t.Context()))
	s.procs[0].Kill()
	require.ErrorContains(t, s.finish(t.Context()), "worker: signal: killed")
}

// A client writes an error that nothing explains as a violation.
func TestErrorsNeedAReason(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	file, server := &client{Config: Config{Place: place.Place{File: "f"}}}, &client{Config: Config{Place: place.Place{URL: "u"}}}
	lost := errors.New("durable: Set: the outcome of the transaction is unknown: the answer to COMMIT is lost")
	for _, c := range []struct {
		client *client
		ctx    context.Context
		tx     string
		err    error
		want   bool
	}{
		{file, ended, "", errors.New("any"), true},
		{file, ended, "", durable.ErrDamaged, false},
		{file, t.Context(), "", errors.New("database is locked"), false},
		{file, t.Context(), commit, io.EOF, false},
		{server, t.Context(), "", lost, true},
		{server, t.Context(), "", io.EOF, false},
		{server, t.Context(), commit, io.EOF, true},
		{server, t.Context(), commit, &pgconn.PgError{Code: "57P01"}, true},
		{server, t.Context(), commit, &pgconn.PgError{Code: "40P01"}, false},
		{server, t.Context(), commit, durable.ErrClosed, false},
	} {
		require.Equal(t, Failed, outcomeOf(c.err))
		require.Equal(t, c.want, c.client.lost(c.ctx, Record{Tx: c.tx}, c.err), c.err)
	}
}

func TestStoreIsVerifiedAfterTheFaults(t *testing.T) {
	s := &scene{dir: t.TempDir()}
	s.reads.File = filepath.Join(s.dir, "store.db")
	store, err := s.reads.Open(t.Context(), false)
	require.NoError(t, err)
	defer store.Close()
	require.NoError(t, s.read(t.Context()))
	_, err = store.SQLite.DB().ExecContext(t.Context(), "UPDATE hwt_store SET claimed = claimed + 1")
	require.NoError(t, err)
	require.ErrorIs(t, s.read(t.Context()), durable.ErrDamaged)
}
