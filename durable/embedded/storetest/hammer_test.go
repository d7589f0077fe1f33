package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

// ledger keeps what became of each generation.
type ledger struct {
	mu    sync.Mutex
	set   map[uint64]string // every generation that a call returned, and its key
	ended map[uint64]string // those that a Cancel, Move or SetIf ended for good, and which

}

func (l *ledger) add(t durable.Timer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set[t.Generation] = t.Key
}

func (l *ledger) end(gen uint64, how string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[gen] = how
}

// TestTheFirstFateWins hammers few keys with Set, Move and Cancel, before and
// after the time they are handed to workers, while two Works fire them.
func TestTheFirstFateWins(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	got := newFirings()
	stop1 := work(t, s.Store, got.handle, nil)
	stop2 := work(t, s.Store, got.handle, nil)
	l := &ledger{set: map[uint64]string{}, ended: map[uint64]string{}}
	length := 8 * time.Second
	if testing.Short() {
		length = 3 * time.Second
	}
	end := time.Now().Add(length)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for time.Now().Before(end) {
				randomOp(t, s.Store, l, fmt.Sprintf("key-%d", rand.N(40)))
			}
		})
	}
	all.Wait()
	// What is pending now fires within the longest delay.
	deadline := time.Now().Add(patience)
	for {
		require.NoError(t, s.Refresh(testContext(t)))
		if st := s.Stats(); st.Pending+st.Leased <= 1 { // the canary
			break
		}
		require.True(t, time.Now().Before(deadline), "%+v", s.Stats())
		time.Sleep(100 * time.Millisecond)
	}
	stop1()
	stop2()
	check(t, l, got.all())
	st := s.Stats()
	t.Logf("%d generations, %d ended, %d fired, %d claims refused", len(l.set), len(l.ended), st.Fired, st.Refused)
}

// randomOp does one random thing to a key.
func randomOp(t *testing.T, s *durable.Store, l *ledger, key string) {
	ctx := testContext(t)
	due := time.Now().Add(time.Duration(rand.N(int64(2500 * time.Millisecond))))
	expected := func(err error) bool {
		return err == nil || errors.Is(err, durable.ErrExists) || errors.Is(err, durable.ErrNotFound) ||
			errors.Is(err, durable.ErrFired) || errors.Is(err, durable.ErrConflict)
	}
	var err error
	var set durable.Timer
	switch rand.N(5) {
	case 0, 1:
		if set, err = s.Create(ctx, key, due, []byte(key)); err == nil {
			l.add(set)
		}
	case 2:
		old, e := s.Get(ctx, key)
		if e != nil {
			err = e
			break
		}
		if set, err = s.MoveIf(ctx, key, old.Generation, due); err == nil {
			l.end(old.Generation, "moved")
			l.add(set)
		}
	case 3:
		var cancelled durable.Timer
		if cancelled, err = s.Cancel(ctx, key); err == nil {
			l.end(cancelled.Generation, "cancelled")
		}
	case 4:
		old, e := s.Get(ctx, key)
		if e != nil {
			err = e
			break
		}
		if set, err = s.SetIf(ctx, key, old.Generation, due, []byte(key)); err == nil {
			l.end(old.Generation, "replaced")
			l.add(set)
		}
	}
	if !expected(err) && ctx.Err() == nil {
		assert.NoError(t, err)
	}
	if rand.N(4) == 0 {
		sleep(ctx, time.Duration(rand.N(int64(20*time.Millisecond))))
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// check balances the ledger: each generation has fired once, or was ended.
func check(t *testing.T, l *ledger, fired []durable.Firing) {
	t.Helper()
	times := map[uint64]int{}
	for _, f := range fired {
		times[f.Generation]++
		assert.GreaterOrEqual(t, f.Lateness, time.Duration(0))
		assert.Equal(t, f.Key, l.set[f.Generation], "a generation that no call returned")
	}
	for gen, key := range l.set {
		how, ended := l.ended[gen]
		switch {
		case ended:
			assert.Zero(t, times[gen], "%s: generation %d was %s and has fired", key, gen, how)
		default:
			assert.Equal(t, 1, times[gen], "%s: generation %d", key, gen)
		}
	}
}
