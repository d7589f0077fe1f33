package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/durable"
)

// quickRetry keeps the tests quick.
var quickRetry = durable.WorkOptions{MinBackoff: 10 * time.Millisecond, MaxBackoff: 50 * time.Millisecond, MaxAttempts: 4}

func soon() time.Time { return time.Now().Add(200 * time.Millisecond) }

func TestAFailureIsRetriedWithTheSameID(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	got := newFirings()
	fails := map[string]func() error{
		"error":  func() error { return errors.New("no") },
		"panic":  func() error { panic("no") },
		"goexit": func() error { runtime.Goexit(); return nil },
		"after":  func() error { return fmt.Errorf("busy: %w", durable.RetryAfter(300*time.Millisecond)) },
	}
	stop := work(t, s.Store, func(ctx context.Context, f durable.Firing) error {
		got.handle(ctx, f)
		if f.Attempt < 3 {
			return fails[f.Key]()
		}
		return nil
	}, &quickRetry)
	ctx := testContext(t)
	for key := range fails {
		_, err := s.Set(ctx, key, soon(), []byte(key))
		require.NoError(t, err)
	}
	got.wait(t, 3*len(fails))
	stop()
	attempts, ids := map[string][]int{}, map[string]map[string]bool{}
	dues := map[string][]time.Time{}
	for _, f := range got.all() {
		attempts[f.Key] = append(attempts[f.Key], f.Attempt)
		dues[f.Key] = append(dues[f.Key], f.Due)
		if ids[f.Key] == nil {
			ids[f.Key] = map[string]bool{}
		}
		ids[f.Key][f.ID] = true
		assert.Equal(t, []byte(f.Key), f.Payload)
	}
	for key := range fails {
		assert.Equal(t, []int{1, 2, 3}, attempts[key], key)
		assert.Len(t, ids[key], 1, key)
	}
	assert.GreaterOrEqual(t, dues["after"][1].Sub(dues["after"][0]), 300*time.Millisecond)
	st := s.Stats()
	assert.EqualValues(t, 2*len(fails), st.Retried)
	assert.EqualValues(t, len(fails), st.Succeeded)
}

func TestARetryCanBeCancelledMovedAndReplaced(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	ctx := testContext(t)
	got := newFirings()
	failFirst := func(ctx context.Context, f durable.Firing) error {
		got.handle(ctx, f)
		if f.Attempt == 1 && string(f.Payload) != "new" {
			return durable.RetryAfter(time.Hour)
		}
		return nil
	}
	stop := work(t, s.Store, failFirst, nil)
	for _, key := range []string{"cancelled", "moved", "replaced"} {
		_, err := s.Set(ctx, key, soon(), nil)
		require.NoError(t, err)
	}
	got.wait(t, 3)
	retry := func(key string) durable.Timer {
		var timer durable.Timer
		require.Eventually(t, func() (ok bool) {
			var err error
			timer, err = s.Get(ctx, key)
			return err == nil && timer.Attempt == 2
		}, patience, 10*time.Millisecond)
		return timer
	}
	_, err := s.CancelIf(ctx, "cancelled", retry("cancelled").Generation)
	require.NoError(t, err)
	retry("moved")
	_, err = s.Move(ctx, "moved", soon())
	require.NoError(t, err)
	retry("replaced")
	_, err = s.Set(ctx, "replaced", soon(), []byte("new"))
	require.NoError(t, err)
	got.wait(t, 5)
	stop()
	ids := map[string][]string{}
	for _, f := range got.all() {
		ids[f.Key] = append(ids[f.Key], f.ID)
	}
	assert.Len(t, ids["cancelled"], 1)
	require.Len(t, ids["moved"], 2)
	assert.Equal(t, ids["moved"][0], ids["moved"][1], "a moved retry keeps its ID")
	require.Len(t, ids["replaced"], 2)
	assert.NotEqual(t, ids["replaced"][0], ids["replaced"][1])
}

func TestWhatIsGivenUpCanBeRequeued(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	ctx := testContext(t)
	var well atomic.Bool
	got := newFirings()
	stop := work(t, s.Store, func(ctx context.Context, f durable.Firing) error {
		got.handle(ctx, f)
		switch {
		case well.Load():
			return nil
		case f.Key == "hopeless":
			return durable.GiveUp(errors.New("no such\r\norder"))
		}
		return errors.New(strings.Repeat("long ", 1000))
	}, &quickRetry)
	for _, key := range []string{"hopeless", "stubborn"} {
		_, err := s.Set(ctx, key, soon(), []byte(key))
		require.NoError(t, err)
	}
	dead := map[string]durable.DeadTimer{}
	require.Eventually(t, func() bool {
		for d, err := range s.Dead(ctx) {
			require.NoError(t, err)
			dead[d.Key] = d
		}
		return len(dead) == 2
	}, patience, 20*time.Millisecond)
	assert.Equal(t, 1, dead["hopeless"].Attempt)
	assert.Equal(t, "durable: given up: no such\r\norder", dead["hopeless"].Error)
	assert.Equal(t, 4, dead["stubborn"].Attempt)
	require.Len(t, got.all(), 5)
	require.NoError(t, s.Refresh(ctx))
	assert.EqualValues(t, 2, s.Stats().Dead)

	_, err := s.Requeue(ctx, "hopeless", 1)
	assert.ErrorIs(t, err, durable.ErrNotFound)
	assert.ErrorContains(t, err, "no dead letter of this key with generation 1")
	well.Store(true)
	_, err = s.Requeue(ctx, "hopeless", dead["hopeless"].Generation)
	require.NoError(t, err)
	require.NoError(t, s.Discard(ctx, "stubborn", dead["stubborn"].Generation))
	last := got.wait(t, 6)[5]
	assert.Equal(t, dead["hopeless"].ID, last.ID)
	assert.Equal(t, 1, last.Attempt)
	stop()
	assert.EqualValues(t, 6, s.Stats().Claims.Count())
	for range s.Dead(ctx) {
		assert.Fail(t, "a dead letter is left")
	}
}

func TestAnOccurrenceSetsTheNextUntilCancelled(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	ctx := testContext(t)
	got := newFirings()
	stop := work(t, s.Store, got.handle, nil)
	first := time.Now().Add(500 * time.Millisecond)
	_, err := s.SetEvery(ctx, "tick", durable.Every{Spec: "@every 1s"}, first, []byte("p"))
	require.NoError(t, err)
	list := got.wait(t, 3)
	next, err := s.Get(ctx, "tick")
	require.NoError(t, err)
	assert.Equal(t, "@every 1s", next.Every.Spec)
	_, err = s.Cancel(ctx, "tick")
	require.NoError(t, err)
	n := len(got.all())
	time.Sleep(1500 * time.Millisecond)
	stop()
	assert.Len(t, got.all(), n)
	ids := map[string]bool{}
	for i, f := range list {
		assert.Equal(t, first.Add(time.Duration(i)*time.Second).UnixNano(), f.Due.UnixNano())
		assert.Equal(t, []byte("p"), f.Payload)
		ids[f.ID] = true
	}
	assert.Len(t, ids, 3)
}

func TestAnOccurrenceIsRetriedBesideTheNext(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	ctx := testContext(t)
	got := newFirings()
	stop := work(t, s.Store, func(ctx context.Context, f durable.Firing) error {
		got.handle(ctx, f)
		if f.Attempt < 3 {
			return errors.New("no")
		}
		return nil
	}, &quickRetry)
	_, err := s.SetEvery(ctx, "tick", durable.Every{Spec: "@every 1h"}, soon(), []byte("p"))
	require.NoError(t, err)
	list := got.wait(t, 3)
	stop()
	for i, f := range list {
		assert.Equal(t, i+1, f.Attempt)
		assert.Equal(t, "tick", f.Key)
		assert.Equal(t, list[0].ID, f.ID)
	}
	n := 0
	for timer, err := range s.All(ctx) {
		require.NoError(t, err)
		assert.Equal(t, "tick", timer.Key)
		n++
	}
	assert.Equal(t, 1, n, "the next occurrence only")
}

// everySecond is a schedule of the user's.
type everySecond struct{}

func (everySecond) Next(t time.Time) time.Time { return t.Add(time.Second) }

func TestANamedScheduleIsLeftToAWorkerThatKnowsIt(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	ctx := testContext(t)
	_, err := s.SetEvery(ctx, "tick", durable.Every{Schedule: "second"}, time.Time{}, nil)
	require.ErrorIs(t, err, durable.ErrInvalid)
	_, err = s.SetEvery(ctx, "tick", durable.Every{Schedule: "second"}, soon(), nil)
	require.NoError(t, err)
	stop := work(t, s.Store, func(context.Context, durable.Firing) error {
		assert.Fail(t, "a worker without the schedule fired")
		return nil
	}, nil)
	time.Sleep(time.Second)
	stop()
	got := newFirings()
	stop = work(t, s.Store, got.handle, &durable.WorkOptions{Schedules: map[string]clock.Schedule{"second": everySecond{}}})
	got.wait(t, 2)
	stop()
}

// brokenSchedule is a schedule of the user's that does not keep its contract.
type brokenSchedule func(time.Time) time.Time

func (s brokenSchedule) Next(t time.Time) time.Time { return s(t) }

func TestABrokenScheduleEndsItsTimerOnly(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	ctx := testContext(t)
	schedules := map[string]clock.Schedule{
		"panics": brokenSchedule(func(time.Time) time.Time { panic("no") }),
		"exits":  brokenSchedule(func(time.Time) time.Time { runtime.Goexit(); return time.Time{} }),
		"stands": brokenSchedule(func(t time.Time) time.Time { return t }),
	}
	for name := range schedules {
		_, err := s.SetEvery(ctx, name, durable.Every{Schedule: name}, soon(), nil)
		require.NoError(t, err)
	}
	stop := work(t, s.Store, newFirings().handle, &durable.WorkOptions{Schedules: schedules})
	dead := map[string]string{}
	require.Eventually(t, func() bool {
		for d, err := range s.Dead(ctx) {
			require.NoError(t, err)
			dead[d.Key] = d.Error
		}
		return len(dead) == 3
	}, patience, 20*time.Millisecond)
	stop()
	assert.Contains(t, dead["panics"], "panic: no")
	assert.Contains(t, dead["exits"], hwt.ErrGoexit.Error())
	assert.Contains(t, dead["stands"], "the schedule returned")
}

func TestARecurringTimerIsPendingAtAnyTime(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	ctx := testContext(t)
	_, err := s.SetEvery(ctx, "all", durable.Every{Spec: "@every 1s", Missed: durable.MissedAll}, time.Now().Add(-50*time.Second), nil)
	require.NoError(t, err)
	got := newFirings()
	stop := work(t, s.Store, got.handle, nil)
	for len(got.all()) < 50 { // caught up with what was missed
		_, err := s.Get(ctx, "all")
		require.NoError(t, err)
	}
	_, err = s.Cancel(ctx, "all")
	require.NoError(t, err)
	stop()
}

func TestMissedOccurrences(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	ctx := testContext(t)
	first := time.Now().Add(300 * time.Millisecond)
	for _, missed := range []durable.Missed{durable.MissedOnce, durable.MissedSkip, durable.MissedAll} {
		_, err := s.SetEvery(ctx, missed.String(), durable.Every{Spec: "@every 1s", Missed: missed}, first, nil)
		require.NoError(t, err)
	}
	time.Sleep(3500 * time.Millisecond) // no worker: the occurrences at 0, 1, 2 and 3 s are due
	began := time.Now()
	got := newFirings()
	stop := work(t, s.Store, got.handle, nil)
	time.Sleep(1500 * time.Millisecond)
	for _, key := range []string{"once", "skip", "all"} {
		_, err := s.Cancel(ctx, key)
		require.NoError(t, err)
	}
	stop()
	before := map[string]int{} // firings of occurrences that were due before the worker began
	for _, f := range got.all() {
		if f.Due.Before(began) {
			before[f.Key]++
		}
	}
	assert.Equal(t, map[string]int{"once": 1, "all": 4}, before)
}
