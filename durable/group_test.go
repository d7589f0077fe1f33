package durable_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
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

// The entries of the large group are overdue, due with the others, or due in the same second. An entry of another group
// waits for one of each group, and for a batch of claims. Most entries of the large group stay in the database if MaxHeld is small.
func TestBacklogOfAGroupDelaysNoOtherGroup(t *testing.T) {
	for _, due := range []time.Duration{-time.Second, 0, time.Second} {
		t.Run(fmt.Sprint(due), func(t *testing.T) { testBacklog(t, due, 0) })
		t.Run(fmt.Sprint(due, " with few entries in memory"), func(t *testing.T) { testBacklog(t, due, 400) })
	}
}

func testBacklog(t *testing.T, due time.Duration, held int) {
	inBubble(t, func(f *fixture) {
		for i := range 3000 {
			f.setIn(fmt.Sprint("large-", i), due, group("large"))
		}
		for i := range 20 {
			f.setIn(fmt.Sprint("small-", i), max(due, 0)+time.Duration(i)*20*time.Millisecond, group("small"))
			f.setIn(fmt.Sprint("plain-", i), max(due, 0)+time.Duration(i)*20*time.Millisecond)
		}
		end := f.work(busily, &durable.WorkOptions{Concurrency: 1, MaxHeld: held})
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
}

// Groups get their positions and give them up all the time, more of them than a worker keeps positions for.
func TestEntriesOfManyGroupsFireOnce(t *testing.T) {
	for _, marks := range []bool{false, true} {
		t.Run(fmt.Sprintf("database marks leases %t", marks), func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				if marks {
					f.b.leased = make(map[backend.Ref]bool)
				}
				rng := rand.New(rand.NewPCG(7, 7))
				for i := range 2000 {
					name := fmt.Sprint(rng.IntN(1 + rng.IntN(80)))
					f.setIn(fmt.Sprint(i), time.Duration(rng.IntN(8000)-5000)*time.Millisecond, group(name))
				}
				end := f.work(nil, &durable.WorkOptions{Concurrency: 4, MaxHeld: 150})
				time.Sleep(time.Second)
				for i := range 500 { // offered to the Work
					f.setIn(fmt.Sprint("later-", i), time.Duration(rng.IntN(2000))*time.Millisecond, group(fmt.Sprint(rng.IntN(3))))
				}
				time.Sleep(20 * time.Second)
				seen := make(map[string]int)
				fired := f.firings()
				for _, firing := range fired {
					seen[firing.Key]++
				}
				assert.Len(t, seen, 2500)
				assert.Len(t, fired, 2500)
				end()
			})
		})
	}
}

// The group holds its share of entries that are due later.
func TestEarlierEntryOfAFullGroupFires(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for i := range 30 {
			f.setIn(fmt.Sprint("later-", i), 900*time.Millisecond, group("large"))
		}
		f.setIn("other", 900*time.Millisecond, group("small"))
		defer f.work(nil, &durable.WorkOptions{Concurrency: 1, MaxHeld: 80})()
		time.Sleep(300 * time.Millisecond)
		for i := range 5 {
			f.setIn(fmt.Sprint("early-", i), 20*time.Millisecond, group("large"))
		}
		time.Sleep(20 * time.Second)
		assert.Len(t, f.firings(), 36)
		for _, firing := range f.firings()[:5] {
			assert.Contains(t, firing.Key, "early")
			assert.LessOrEqual(t, firing.Lateness, 45*time.Millisecond)
		}
	})
}
