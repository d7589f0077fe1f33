package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/inspect"
)

// bars returns the title of what is due when, and the counts by their names.
func bars(t *testing.T, s inspect.Section) (string, map[string]int64) {
	t.Helper()
	blocks, err := s.Read(testContext(t))
	require.NoError(t, err)
	counts := map[string]int64{}
	for _, b := range blocks[1].Bars {
		counts[b.Name] = b.Value.(int64)
	}
	return blocks[1].Title, counts
}

// fill sets n timers that are due from first on, one a microsecond.
func fill(t *testing.T, s *durable.Store, prefix string, n int, first time.Time) {
	t.Helper()
	set, err := s.SetMany(testContext(t), func(yield func(durable.Timer) bool) {
		for i := range n {
			if !yield(durable.Timer{Key: fmt.Sprintf("%s-%d", prefix, i), Due: first.Add(time.Duration(i) * time.Microsecond)}) {
				return
			}
		}
	})
	require.NoError(t, err)
	require.Equal(t, n, set)
}

func TestTheSectionCountsWhatIsDue(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{Shards: 3, Lead: 2 * time.Second})
	now := time.Now()
	fill(t, s.Store, "overdue", 5, now.Add(-10*time.Second))
	fill(t, s.Store, "minute", 40, now.Add(30*time.Second))
	fill(t, s.Store, "hour", 30, now.Add(30*time.Minute))
	fill(t, s.Store, "day", 20, now.Add(3*time.Hour))
	fill(t, s.Store, "later", 10, now.Add(50*time.Hour))
	section := s.Section()
	title, counts := bars(t, section)
	assert.Equal(t, "Due", title)
	assert.Equal(t, map[string]int64{"overdue": 5, "next second": 0, "next minute": 40, "next hour": 30, "next day": 20, "later": 10}, counts)

	require.NoError(t, s.Refresh(testContext(t)))
	blocks, err := section.Read(testContext(t))
	require.NoError(t, err)
	sum := int64(0)
	for _, row := range blocks[3].Table.Rows {
		sum += row[1].(int64) + row[2].(int64)
		assert.Nil(t, row[5], "the lag is unknown before a worker ran")
	}
	assert.EqualValues(t, 105, sum)
	require.NoError(t, s.Close())
	_, err = section.Read(testContext(t))
	assert.ErrorIs(t, err, durable.ErrClosed)
}

// TestTheSectionEstimatesWhatIsDue has more timers than a look reads, in more shards,
// and gaps where timers were cancelled.
func TestTheSectionEstimatesWhatIsDue(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{Shards: 12})
	now := time.Now()
	fill(t, s.Store, "hour", 4000, now.Add(30*time.Minute))
	fill(t, s.Store, "gone", 1000, now.Add(2*time.Hour))
	fill(t, s.Store, "day", 4000, now.Add(5*time.Hour))
	for i := range 1000 {
		_, err := s.Cancel(testContext(t), fmt.Sprintf("gone-%d", i))
		require.NoError(t, err)
	}
	section := s.Section()
	title, counts := bars(t, section)
	// A look has two seconds. On a busy machine it reads less than it may.
	for began := time.Now(); title != "Due, estimated from 2240 timers" && time.Since(began) < patience; {
		require.Regexp(t, `^Due, estimated from \d+ timers$`, title)
		time.Sleep(time.Second)
		title, counts = bars(t, section)
	}
	assert.InDelta(t, 8000, counts["next hour"]+counts["next day"], 400)
	assert.InDelta(t, 4000, counts["next hour"], 1000)
	assert.InDelta(t, 4000, counts["next day"], 1000)
	_, again := bars(t, section)
	assert.Equal(t, counts, again, "no second look within the pause")
}

func TestTheSectionShowsWorkersAtWork(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a canary, which comes every 15 s")
	}
	s := open(t, shortLead)
	_, err := s.Set(testContext(t), "broken", time.Now(), nil)
	require.NoError(t, err)
	given := make(chan bool)
	stop := work(t, s.Store, func(context.Context, durable.Firing) error {
		close(given)
		return durable.GiveUp(errors.New("no"))
	}, nil)
	<-given
	shard := func() durable.ShardStats {
		require.NoError(t, s.Refresh(testContext(t)))
		return s.Stats().Shards[0]
	}
	require.Eventually(t, func() bool { st := shard(); return st.Dead == 1 && st.Overdue == 0 }, patience, 50*time.Millisecond)
	blocks, err := s.Section().Read(testContext(t))
	require.NoError(t, err)
	assert.Equal(t, time.Duration(0), blocks[3].Table.Rows[0][5], "the lag is known once there is a canary")
	assert.EqualValues(t, 1, blocks[3].Table.Rows[0][3])
	stop()
	require.Eventually(t, func() bool { return shard().Overdue > time.Second }, patience, 200*time.Millisecond,
		"without a worker, the canary waits")
}
