package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

func TestATimerFiresOnceWithItsPayloadAndNeverEarly(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	ctx := testContext(t)
	got := newFirings()
	stop := work(t, s.Store, got.handle, nil)
	due := time.Now().Add(2500 * time.Millisecond)
	set, err := s.Set(ctx, "order-17", due, []byte("check"))
	require.NoError(t, err)
	near, err := s.Set(ctx, "order-18", time.Now().Add(300*time.Millisecond), nil)
	require.NoError(t, err)
	list := got.wait(t, 2)
	stop()
	assert.Len(t, got.all(), 2)
	assert.Equal(t, "order-18", list[0].Key)
	assert.Equal(t, near.Generation, list[0].Generation)
	f := list[1]
	assert.Equal(t, "order-17", f.Key)
	assert.Equal(t, []byte("check"), f.Payload)
	assert.Equal(t, set.Generation, f.Generation)
	assert.Equal(t, due.UnixNano(), f.Due.UnixNano())
	assert.Equal(t, 1, f.Attempt)
	assert.NotEmpty(t, f.ID)
	assert.GreaterOrEqual(t, f.Lateness, time.Duration(0))
	_, err = s.Get(ctx, "order-17")
	assert.ErrorIs(t, err, durable.ErrNotFound)
}

func TestSetReplacesAndCreateDoesNot(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	ctx := testContext(t)
	for name, in := range map[string]time.Duration{"far": time.Hour, "close": 20 * time.Second, "leased": 900 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			first, err := s.Create(ctx, name, time.Now().Add(in), []byte("1"))
			require.NoError(t, err)
			_, err = s.Create(ctx, name, time.Now().Add(in), []byte("2"))
			require.ErrorIs(t, err, durable.ErrExists)
			second, err := s.Set(ctx, name, time.Now().Add(in+time.Hour), []byte("3"))
			require.NoError(t, err)
			assert.Greater(t, second.Generation, first.Generation)
			got, err := s.Get(ctx, name)
			require.NoError(t, err)
			assert.Equal(t, second, got)
			third, err := s.Move(ctx, name, time.Now().Add(in))
			require.NoError(t, err)
			assert.Equal(t, []byte("3"), third.Payload)
			cancelled, err := s.Cancel(ctx, name)
			require.NoError(t, err)
			assert.Equal(t, third, cancelled)
			_, err = s.Cancel(ctx, name)
			assert.ErrorIs(t, err, durable.ErrNotFound)
			_, err = s.Move(ctx, name, time.Now().Add(in))
			assert.ErrorIs(t, err, durable.ErrNotFound)
			_, err = s.Create(ctx, name, time.Now().Add(time.Hour), []byte("4"))
			require.NoError(t, err)
		})
	}
	n := 0
	for _, err := range s.All(ctx) {
		require.NoError(t, err)
		n++
	}
	assert.Equal(t, 3, n)
}
