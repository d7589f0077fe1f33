package runner_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/runner"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

const tick = time.Millisecond

// diary is a listener that records all events.
type diary struct {
	lines []string
	late  time.Duration // the largest lateness
}

func (d *diary) Fired(f runner.Firing) {
	d.lines = append(d.lines, fmt.Sprintf("%v %s fired: %s", f.After-f.Lateness, f.ID, f.Message))
	d.late = max(d.late, f.Lateness)
}

func (d *diary) TooLate(row schedule.Row, end string) {
	d.lines = append(d.lines, fmt.Sprintf("%v %v %s: it %s", row.At, row.Op, row.ID, end))
}

// result is the outcome of a run.
type result struct {
	diary
	counts  runner.Counts
	unfired []runner.Unfired
	err     error
	took    time.Duration
}

func newTimer(t *testing.T) *hashedwheel.Timer {
	t.Helper()
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: tick, TicksPerWheel: 64})
	require.NoError(t, err)
	return timer
}

// rowsOf reads valid CSV rows.
func rowsOf(t *testing.T, rows string) []schedule.Row {
	t.Helper()
	s, err := schedule.Read(strings.NewReader("at,op,id,delay,message\n"+rows), schedule.DefaultLimits)
	require.NoError(t, err)
	require.Empty(t, s.Problems)
	return s.Rows
}

// run runs rows in a bubble. It interrupts the run after a while, unless that is 0.
func run(t *testing.T, rows []schedule.Row, interrupt time.Duration) (r result) {
	t.Helper()
	enginetest.Bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if interrupt > 0 {
			stop := time.AfterFunc(interrupt, cancel)
			defer stop.Stop()
		}
		began := time.Now()
		r.counts, r.unfired, r.err = runner.New(newTimer(t), rows, &r.diary).Run(ctx)
		r.took = time.Since(began)
	})
	return r
}

func TestEachOperationHasItsEffect(t *testing.T) {
	r := run(t, rowsOf(t, `0,schedule,plain,1s,hello
0,schedule,cancelled,2s,never
0,schedule,later,1500ms,pushed back
0,schedule,sooner,1h,brought forward
1s,cancel,cancelled,,
1s,reset,later,2s,
2s,reset,sooner,500ms,
10s,schedule,immediate,0,without delay
`), 0)
	assert.NoError(t, r.err)
	assert.Equal(t, []string{
		"1s plain fired: hello",
		"2.5s sooner fired: brought forward",
		"3s later fired: pushed back",
		"10s immediate fired: without delay",
	}, r.lines)
	assert.Equal(t, runner.Counts{Scheduled: 5, Fired: 4, Cancelled: 1, Reset: 2}, r.counts)
	assert.Empty(t, r.unfired)
	assert.LessOrEqual(t, r.took, 10*time.Second+2*tick)
}

func TestOperationOnAnEndedTimeoutGivesANotice(t *testing.T) {
	r := run(t, rowsOf(t, `0,schedule,fired,500ms,x
0,schedule,cancelled,9s,y
600ms,cancel,cancelled,,
900ms,cancel,fired,,
2s,reset,fired,1s,
2s,cancel,cancelled,,
2s,reset,cancelled,1s,
`), 0)
	assert.NoError(t, r.err)
	assert.Equal(t, []string{
		"500ms fired fired: x",
		"900ms cancel fired: it fired",
		"2s reset fired: it fired",
		"2s cancel cancelled: it was cancelled",
		"2s reset cancelled: it was cancelled",
	}, r.lines)
	assert.Equal(t, runner.Counts{Scheduled: 2, Fired: 1, Cancelled: 1, TooLate: 4}, r.counts)
}

func TestRowsOfOneTickActInTheOrderOfTheFile(t *testing.T) {
	var rows strings.Builder
	for i := range 200 {
		fmt.Fprintf(&rows, "%dus,schedule,a%d,1h,\n%dus,reset,a%d,2h,\n%dus,cancel,a%d,,\n", i, i, i, i, i, i)
	}
	r := run(t, rowsOf(t, rows.String()), 0)
	assert.Empty(t, r.lines, "every cancel found its timeout")
	assert.Equal(t, runner.Counts{Scheduled: 200, Cancelled: 200, Reset: 200}, r.counts)
}

func TestLatenessDoesNotAccumulate(t *testing.T) {
	var rows strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&rows, "%dus,schedule,a%d,%dus,\n", 7000*i+300, i, 3000*i+2500)
	}
	r := run(t, rowsOf(t, rows.String()), 0)
	assert.Equal(t, 1000, r.counts.Fired)
	assert.LessOrEqual(t, r.late, tick)
	assert.Zero(t, r.counts.Early)
}

func TestRunWithoutRowsEndsImmediately(t *testing.T) {
	r := run(t, nil, 0)
	assert.NoError(t, r.err)
	assert.Zero(t, r.counts)
	assert.Zero(t, r.took)
}

func TestInterruptListsUnfiredRows(t *testing.T) {
	r := run(t, rowsOf(t, `0,schedule,fired,1s,
0,schedule,cancelled,9s,
0,schedule,late,1h,in an hour
0,schedule,soon,5s,in a moment
1s,cancel,cancelled,,
30s,schedule,not-yet,1s,still to come
40s,cancel,late,,
`), 4*time.Second+time.Microsecond)
	assert.NoError(t, r.err)
	assert.Equal(t, runner.Counts{Scheduled: 4, Fired: 1, Cancelled: 1}, r.counts)
	for i := range r.unfired {
		r.unfired[i].Remaining = r.unfired[i].Remaining.Round(time.Second)
	}
	assert.Equal(t, []runner.Unfired{
		{ID: "soon", Message: "in a moment", Remaining: time.Second, Scheduled: true},
		{ID: "not-yet", Message: "still to come", Remaining: 27 * time.Second},
		{ID: "late", Message: "in an hour", Remaining: time.Hour - 4*time.Second, Scheduled: true},
	}, r.unfired)
}

func TestEndlessDelayNeverFires(t *testing.T) {
	rows := []schedule.Row{{Op: schedule.Start, ID: "never", At: time.Hour, Delay: math.MaxInt64}}
	for interrupt, scheduled := range map[time.Duration]int{time.Minute: 0, 24 * time.Hour: 1} {
		r := run(t, rows, interrupt)
		assert.Equal(t, runner.Counts{Scheduled: scheduled}, r.counts)
		require.Len(t, r.unfired, 1)
		assert.Greater(t, r.unfired[0].Remaining, 100*365*24*time.Hour)
	}
}

// limited is a timer that accepts a limited number of timeouts.
type limited struct {
	hwt.Timer
	left int
}

func (r *limited) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	if r.left--; r.left < 0 {
		return nil, errors.New("no room")
	}
	return r.Timer.NewTimeout(task, delay)
}

// slowReader is a listener that takes a minute per event.
type slowReader struct{ diary }

func (s *slowReader) Fired(f runner.Firing) {
	time.Sleep(time.Minute)
	s.diary.Fired(f)
}

func TestSlowListenerDelaysNeitherRowsNorTimeouts(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		rows := rowsOf(t, "0,schedule,a,1s,\n2s,schedule,b,1s,\n4s,schedule,c,1s,\n")
		slow := &slowReader{}
		counts, _, err := runner.New(newTimer(t), rows, slow).Run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 3, counts.Fired)
		assert.Len(t, slow.lines, 3)
		assert.LessOrEqual(t, slow.late, tick)
	})
}

func TestRejectionByTheTimerEndsTheRun(t *testing.T) {
	for room := range 3 {
		enginetest.Bubble(t, func(t *testing.T) {
			rows := rowsOf(t, "0,schedule,a,1h,\n0,schedule,b,1h,\n1s,schedule,c,1h,\n")
			timer := &limited{Timer: newTimer(t), left: room}
			counts, unfired, err := runner.New(timer, rows, &diary{}).Run(t.Context())
			assert.EqualError(t, err, "no room")
			assert.Equal(t, room, counts.Scheduled)
			assert.Len(t, unfired, 3)
		})
	}
}

func TestExampleScheduleAddsUp(t *testing.T) {
	f, err := os.Open("../../testdata/shop-day.csv")
	require.NoError(t, err)
	defer f.Close()
	s, err := schedule.Read(f, schedule.DefaultLimits)
	require.NoError(t, err)
	r := run(t, s.Rows, 0)
	assert.Empty(t, r.unfired)
	assert.Equal(t, r.counts.Scheduled, r.counts.Fired+r.counts.Cancelled)
	acted := r.counts.Scheduled + r.counts.Cancelled + r.counts.Reset + r.counts.TooLate
	assert.Equal(t, len(s.Rows), acted, "every row had an effect")
	assert.Less(t, r.took, 12*time.Second)
	assert.LessOrEqual(t, r.late, 2*tick)
}
