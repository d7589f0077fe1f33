package durable

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/inspect"
)

// figure returns the value with a name in a block.
func figure(t *testing.T, b inspect.Block, name string) inspect.Figure {
	t.Helper()
	for _, f := range append(b.Figures, b.Bars...) {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("%q has no %q", b.Title, name)
	return inspect.Figure{}
}

func TestWhatIsNotMeasuredIsUnknown(t *testing.T) {
	st := Stats{Shards: make([]ShardStats, 2)}
	b := sizesBlock(st, time.Unix(100, 0))
	assert.Nil(t, figure(t, b, "pending").Value)
	assert.Nil(t, figure(t, b, "greatest lag").Value)
	assert.Nil(t, shardsBlock(st, time.Unix(100, 0)).Table.Rows[1][5])
	assert.Empty(t, dueBlock(dueLook{}).Bars)
}

func TestTheSectionShowsStats(t *testing.T) {
	now := time.Unix(100, 0)
	st := Stats{
		Time: time.Unix(98, 0), Pending: 7, Leased: 5, Dead: 1, Bytes: 2_500_000, ClockOffset: time.Millisecond,
		Fired: 9, GivenUp: 1,
		Shards: []ShardStats{
			{Pending: 3, Lag: 3 * time.Millisecond, Canary: time.Unix(90, 0)},
			{Pending: 4, Overdue: 2 * time.Second},
			{Overdue: -1, Lag: 0},
		},
	}
	b := sizesBlock(st, now)
	assert.EqualValues(t, 7, figure(t, b, "pending").Value)
	assert.Equal(t, inspect.Figure{Name: "dead letters", Value: int64(1), Bad: true}, figure(t, b, "dead letters"))
	assert.Equal(t, "2.5 MB", figure(t, b, "disk").Value)
	assert.Equal(t, "none", figure(t, b, "disk limit").Value)
	assert.Equal(t, inspect.Figure{Name: "greatest lag", Value: 2 * time.Second, Bad: true}, figure(t, b, "greatest lag"))
	assert.Equal(t, 2*time.Second, figure(t, b, "measured, ago").Value)
	assert.EqualValues(t, 9, figure(t, doneBlock(st), "fired").Value)
	rows := shardsBlock(st, now).Table.Rows
	assert.Equal(t, []any{0, int64(3), int64(0), int64(0), "0.0 MB", 3 * time.Millisecond, 10 * time.Second}, rows[0])
	assert.Equal(t, 2*time.Second, rows[1][5], "what has waited is the lag, where no canary was received")
	assert.Nil(t, rows[1][6])
	assert.Nil(t, rows[2][5], "a shard without a canary")
}

func TestAnEstimateSaysSo(t *testing.T) {
	d := dueLook{known: true, read: 500, counts: dueCounts{1: 1000.4, 5: 2}}
	b := dueBlock(d)
	assert.Equal(t, "Due, estimated from 500 timers", b.Title)
	assert.EqualValues(t, 1000, figure(t, b, "next second").Value)
	assert.EqualValues(t, 2, figure(t, b, "later").Value)
	d.exact = true
	assert.Equal(t, "Due", dueBlock(d).Title)
}
