package durable_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/durable"
)

func group(name string) func(*durable.Entry) { return func(e *durable.Entry) { e.Group = name } }

// latenessOf returns the largest lateness of the firings in a group, and their number.
func (f *fixture) latenessOf(group string) (most time.Duration, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, firing := range f.fired {
		if firing.Group == group {
			most, n = max(most, firing.Lateness), n+1
		}
	}
	return most, n
}

// busily is a handler that takes a millisecond.
func busily(context.Context, durable.Firing) error {
	time.Sleep(time.Millisecond)
	return nil
}

// The entries of the large group are overdue, due at the same time as the others, or both. The row of another
// group waits for one row of each group, and for a batch of claims if it is overdue.
func TestBacklogOfAGroupDelaysNoOtherGroup(t *testing.T) {
	for _, due := range []time.Duration{-time.Second, 0, time.Second} {
		t.Run(fmt.Sprint(due), func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				for i := range 3000 {
					f.setIn(fmt.Sprint("large-", i), due, group("large"))
				}
				for i := range 20 {
					f.setIn(fmt.Sprint("small-", i), max(due, 0)+time.Duration(i)*20*time.Millisecond, group("small"))
					f.setIn(fmt.Sprint("plain-", i), max(due, 0)+time.Duration(i)*20*time.Millisecond)
				}
				end := f.work(busily, &durable.WorkOptions{Concurrency: 1})
				time.Sleep(20 * time.Second)
				for _, name := range []string{"", "small"} {
					most, n := f.latenessOf(name)
					assert.Equal(t, 20, n)
					assert.LessOrEqual(t, most, 45*time.Millisecond, "group %q", name)
				}
				_, n := f.latenessOf("large")
				assert.Equal(t, 3000, n)
				end()
			})
		})
	}
}
