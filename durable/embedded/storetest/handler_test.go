package storetest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

// aDead returns the first dead letter.
func aDead(t *testing.T, s *durable.Store) (dead durable.DeadTimer) {
	require.Eventually(t, func() bool {
		for d, err := range s.Dead(testContext(t)) {
			require.NoError(t, err)
			dead = d
		}
		return dead.Key != ""
	}, patience, 20*time.Millisecond)
	return dead
}

func TestAHandlerMayChangeItsPayload(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	got := newFirings()
	stop := work(t, s.Store, func(ctx context.Context, f durable.Firing) error {
		assert.Equal(t, "set", string(f.Payload))
		clear(f.Payload)
		got.handle(ctx, f)
		if f.Attempt < 3 {
			return errors.New("no")
		}
		return nil
	}, &quickRetry)
	_, err := s.Set(testContext(t), "k", soon(), []byte("set"))
	require.NoError(t, err)
	got.wait(t, 3)
	stop()
}

func TestARetryIsDueInTheRangeOfDueTimes(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	ctx := testContext(t)
	stop := work(t, s.Store, func(context.Context, durable.Firing) error { return durable.RetryAfter(math.MaxInt64) }, nil)
	_, err := s.Set(ctx, "k", soon(), nil)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		timer, err := s.Get(ctx, "k")
		return err == nil && timer.Attempt == 2 && timer.Due.Year() == 2262
	}, patience, 10*time.Millisecond)
	stop()
}

// brokenError is an error whose method panics where it is nil.
type brokenError struct{ text string }

func (e *brokenError) Error() string { return e.text }

func TestAnErrorThatPanicsIsGivenUpLikeAnother(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	stop := work(t, s.Store, func(context.Context, durable.Firing) error {
		var err *brokenError
		return err
	}, &durable.WorkOptions{MaxAttempts: 1})
	_, err := s.Set(testContext(t), "k", soon(), nil)
	require.NoError(t, err)
	assert.Equal(t, "<nil>", aDead(t, s.Store).Error)
	stop()
}

// TestAnOccurrenceThatIsGivenUpCanBeRequeued has the next occurrence pending: the
// one before fires again beside it.
func TestAnOccurrenceThatIsGivenUpCanBeRequeued(t *testing.T) {
	t.Parallel()
	for _, attempts := range []int{1, 2} {
		t.Run(fmt.Sprint(attempts), func(t *testing.T) {
			t.Parallel()
			s := open(t, shortLead)
			ctx := testContext(t)
			got := newFirings()
			stop := work(t, s.Store, func(ctx context.Context, f durable.Firing) error {
				got.handle(ctx, f)
				if len(got.all()) <= attempts {
					return errors.New("no")
				}
				return nil
			}, &durable.WorkOptions{MaxAttempts: attempts, MaxBackoff: 10 * time.Millisecond, MinBackoff: time.Millisecond})
			_, err := s.SetEvery(ctx, "tick", durable.Every{Spec: "@every 1h"}, soon(), []byte("p"))
			require.NoError(t, err)
			dead := aDead(t, s.Store)
			next, err := s.Get(ctx, "tick")
			require.NoError(t, err)
			_, err = s.Requeue(ctx, "tick", dead.Generation)
			require.NoError(t, err)
			list := got.wait(t, attempts+1)
			stop()
			assert.Equal(t, list[0].ID, list[attempts].ID)
			again, err := s.Get(ctx, "tick")
			require.NoError(t, err)
			assert.Equal(t, next.Generation, again.Generation, "the series goes on")
		})
	}
}

// TestASkippedOccurrenceIsNotTakenOver reads what the worker stored that skipped an
// occurrence: if it dies then, the fate keeps others from firing it.
func TestASkippedOccurrenceIsNotTakenOver(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{Lead: time.Second, Shards: 1})
	ctx := testContext(t)
	first, err := s.SetEvery(ctx, "k", durable.Every{Spec: "@every 10s", Missed: durable.MissedSkip}, time.Now().Add(-30*time.Second), nil)
	require.NoError(t, err)
	stop := work(t, s.Store, func(context.Context, durable.Firing) error { return nil }, nil)
	require.Eventually(t, func() bool { return s.Stats().Missed == 1 }, patience, 10*time.Millisecond)
	stop()
	js, err := jetstream.New(s.Conn())
	require.NoError(t, err)
	stream, err := js.Stream(ctx, "HWT_timers_00")
	require.NoError(t, err)
	subject := fmt.Sprintf("hwt.timers.00.fate.of.%s.%d", base64.RawURLEncoding.EncodeToString([]byte("k")), first.Generation)
	fate, err := stream.GetLastMsgForSubject(ctx, subject)
	require.NoError(t, err)
	assert.Equal(t, "moved", fate.Header.Get("Hwt-Fate"))
}
