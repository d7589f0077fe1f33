package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/embedded"
)

// TestAFullStoreRefusesTimersAndFiresThemAllOnceFreed fills the server's disk space
// while timers come due: the server cannot hand them out, and does not try
// again by itself.
func TestAFullStoreRefusesTimersAndFiresThemAllOnceFreed(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s, err := embedded.Open(ctx, t.TempDir(), &embedded.Options{Store: shortLead, MaxDisk: 8 << 20, Logger: quietLog})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	const n = 300
	due := time.Now().Add(4 * time.Second)
	stored, err := s.SetMany(ctx, func(yield func(durable.Timer) bool) {
		for i := range n {
			if !yield(durable.Timer{Key: fmt.Sprint(i), Due: due}) {
				return
			}
		}
	})
	require.NoError(t, err)
	require.Equal(t, n, stored)

	js, err := jetstream.New(s.Conn())
	require.NoError(t, err)
	hog, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "HOG", Subjects: []string{"hog"}})
	require.NoError(t, err)
	for err == nil {
		_, err = js.Publish(ctx, "hog", make([]byte, 64<<10))
	}
	inTime := time.Until(due) > shortLead.Lead // full before the first is handed out
	require.NoError(t, s.Refresh(ctx))
	_, err = s.Set(ctx, "late", due, nil)
	require.ErrorIs(t, err, durable.ErrFull)
	_, err = s.Create(ctx, "late", due, nil)
	require.ErrorIs(t, err, durable.ErrFull)

	got := newFirings()
	stop := work(t, s.Store, got.handle, nil)
	time.Sleep(time.Until(due) + time.Second)
	assert.Empty(t, got.all(), "the disk was not full enough for this test")
	require.NoError(t, hog.Purge(ctx))
	list := got.wait(t, n)
	stop()
	assert.Len(t, list, n)
	require.NoError(t, s.Refresh(ctx))
	_, err = s.Set(ctx, "late", time.Now().Add(time.Hour), nil)
	assert.NoError(t, err)
	if inTime { // else they were handed out, and only their claims found the disk full
		assert.NotZero(t, s.Stats().Repaired)
	}
}

// TestAStoreThatIsNearlyFull has a store refuse new timers, and then cancels an old one.
func TestAStoreThatIsNearlyFull(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{MaxBytes: 1 << 20})
	ctx := testContext(t)
	hour := time.Now().Add(time.Hour)
	set := func(key string) error {
		_, err := s.Set(ctx, key, hour, make([]byte, 900<<10))
		return err
	}
	require.NoError(t, set("big"))
	require.NoError(t, s.Refresh(ctx))
	require.ErrorIs(t, set("late"), durable.ErrFull)
	_, err := s.Move(ctx, "big", hour.Add(time.Hour))
	require.NoError(t, err)
	_, err = s.Cancel(ctx, "big")
	require.NoError(t, err)
	require.NoError(t, s.Refresh(ctx))
	assert.NoError(t, set("late"))
}
