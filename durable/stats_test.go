package durable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/observe"
)

func TestOverdueIsTheLatenessAtTheReading(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.setIn("k", 500*time.Millisecond)
		assert.Zero(t, f.stats().Overdue)
		time.Sleep(1900 * time.Millisecond)
		assert.Zero(t, f.stats().Overdue, "before the next reading")
		time.Sleep(time.Second)
		assert.Equal(t, 2400*time.Millisecond, f.stats().Overdue)
	})
}

func TestStatsWaitTwoSecondsForTheDatabase(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.b.set("Stats", errors.New("the database is gone"))
		for range 3 {
			f.stats()
		}
		assert.Equal(t, 2*time.Second, time.Since(f.start))
	})
}

// After an error, the sizes are old, and the counts are not.
func TestStatsKeepTheLastSizesAfterAnError(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.setIn("a", time.Hour)
		read, err := f.Stats(f.t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, read.Pending)
		f.b.set("Stats", errGone)
		time.Sleep(time.Minute)
		f.setIn("b", time.Hour)
		st, err := f.Stats(f.t.Context())
		require.ErrorIs(t, err, errGone)
		require.ErrorContains(t, err, "durable: Stats: ")
		assert.EqualValues(t, 2, st.Set)
		assert.EqualValues(t, 1, st.Pending)
		assert.Equal(t, read.Time, st.Time)
		f.b.set("Stats", nil)
		time.Sleep(3 * time.Second)
		st, err = f.Stats(f.t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 2, st.Pending)
		assert.Equal(t, 65*time.Second, st.Time.Sub(f.start))
	})
}

// The page waits for a section only as long as its context allows. The next caller tries again.
func TestSectionEndsWithItsContext(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.b.set("Stats", errors.New("the database is gone"))
		read := func() {
			t.Helper()
			begun := time.Now()
			ctx, cancel := context.WithTimeout(f.t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := observe.Section(f.Store).Read(ctx)
			assert.Error(t, err)
			assert.Equal(t, 100*time.Millisecond, time.Since(begun))
		}
		read() // asks the database
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.stats()
		}()
		synctest.Wait()
		read() // waits behind another caller
		<-done
		assert.Equal(t, 2100*time.Millisecond, time.Since(f.start), "Stats tries again")
	})
}
