package durable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestOverdueIsTheLatenessAtTheReading(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.setIn("k", 500*time.Millisecond)
		assert.Zero(t, f.Stats().Overdue)
		time.Sleep(1900 * time.Millisecond)
		assert.Zero(t, f.Stats().Overdue, "before the next reading")
		time.Sleep(time.Second)
		assert.Equal(t, 2400*time.Millisecond, f.Stats().Overdue)
	})
}

func TestStatsWaitTwoSecondsForTheDatabase(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.b.set("Stats", errors.New("the database is gone"))
		for range 3 {
			f.Stats()
		}
		assert.Equal(t, 2*time.Second, time.Since(f.start))
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
			_, err := f.Section().Read(ctx)
			assert.Error(t, err)
			assert.Equal(t, 100*time.Millisecond, time.Since(begun))
		}
		read() // asks the database
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.Stats()
		}()
		synctest.Wait()
		read() // waits behind another caller
		<-done
		assert.Equal(t, 2100*time.Millisecond, time.Since(f.start), "Stats tries again")
	})
}
