package durable

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// The database may read its clock at any moment of the round trip. The estimate is never
// ahead of that clock, and at most the answer's travel time behind.
func TestClockIsNeverAheadOfTheDatabase(t *testing.T) {
	const trip, ahead = 40 * time.Millisecond, time.Hour // of the database's clock
	for _, request := range []time.Duration{0, trip / 4, trip / 2, trip} {
		synctest.Test(t, func(t *testing.T) {
			c := dbClock{now: func(context.Context) (time.Time, error) {
				time.Sleep(request)
				read := time.Now().Add(ahead)
				time.Sleep(trip - request)
				return read, nil
			}}
			require.NoError(t, c.measure(t.Context()))
			time.Sleep(time.Second)
			behind := time.Now().Add(ahead).UnixNano() - c.nanos()
			require.Equal(t, trip-request, time.Duration(behind))
			offset, err := c.figures()
			require.LessOrEqual(t, (offset - ahead).Abs(), err)
		})
	}
}

func TestHistogramCountsUpToEachBound(t *testing.T) {
	var h histogram
	want := hwt.Histogram{}
	for i := range len(want.Counts) - 1 {
		bound := want.Bound(i)
		h.note(bound)
		h.note(bound + 1)
		want.Counts[i]++
		want.Counts[i+1]++
		want.Sum += 2*bound + 1
	}
	h.note(-1)
	want.Counts[0]++
	want.Sum--
	require.Equal(t, want, h.load())
}
