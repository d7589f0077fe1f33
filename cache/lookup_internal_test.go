package cache

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/puzpuzpuz/xsync/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLateExpiryDoesNotEndANewerEntry expires and evicts a ref whose slot now holds a newer
// entry of the same key.
func TestLateExpiryDoesNotEndANewerEntry(t *testing.T) {
	c, err := New(time.Hour, &Options[int, int]{Limit: 5})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Set(1, 11))
	old, _ := c.items.Load(1)
	c.Delete(1)
	require.NoError(t, c.Set(1, 12))
	now, _ := c.items.Load(1)
	require.Equal(t, old.ref.slot(), now.ref.slot())
	c.expire(1, old.ref, never-1)
	c.remove(1, old.ref, ReasonCapacity)
	value, ok := c.Get(1)
	assert.True(t, ok)
	assert.Equal(t, 12, value)
}

// TestLookUpOfAReplacedItemFindsTheNext replaces an item between the two steps of a lookup.
func TestLookUpOfAReplacedItemFindsTheNext(t *testing.T) {
	c, err := New(time.Hour, &Options[int, int]{Sliding: time.Minute})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Set(1, 11))
	old, _ := c.items.Load(1)
	require.NoError(t, c.Set(1, 12))
	it, left, ok := c.left(1, old)
	assert.True(t, ok)
	assert.Equal(t, 12, it.value)
	assert.Positive(t, left)
	it, ok = c.postpone(1, old)
	assert.True(t, ok)
	assert.Equal(t, 12, it.value)
	c.Delete(1)
	_, _, ok = c.left(1, old)
	assert.False(t, ok)
}

// TestDeniedSlidingItemStaysDenied lets a lookup that read the clock in time continue after
// one that denied the item.
func TestDeniedSlidingItemStaysDenied(t *testing.T) {
	c, err := New(time.Hour, &Options[int, int]{Sliding: time.Minute})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Set(1, 11))
	it, _ := c.items.Load(1)
	c.start = c.start.Add(-2 * time.Minute)
	_, ok := c.Get(1)
	assert.False(t, ok)
	c.start = c.start.Add(2 * time.Minute)
	_, ok = c.postpone(1, it)
	assert.False(t, ok)
	_, ok = c.Get(1)
	assert.False(t, ok)
}

// TestLookupOfADueItemFindsItsSuccessor is late to look at an item that a Set has replaced
// but whose slot it has not freed.
func TestLookupOfADueItemFindsItsSuccessor(t *testing.T) {
	c, err := New(time.Hour, &Options[int, int]{Sliding: time.Minute})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Set(1, 11))
	old, _ := c.items.Load(1)
	c.start = c.start.Add(-2 * time.Minute)
	c.items.Compute(1, func(old item[int], known bool) (it item[int], op xsync.ComputeOp) {
		it, _, err = c.place(write[int]{value: 12, ttl: time.Hour}, 1, old, known)
		return it, xsync.UpdateOp
	})
	require.NoError(t, err)
	it, ok := c.postpone(1, old)
	assert.True(t, ok)
	assert.Equal(t, 12, it.value)
	it, _, ok = c.left(1, old)
	assert.True(t, ok)
	assert.Equal(t, 12, it.value)
	c.stripeOf(old.ref).remove(old.ref.slot())
}

// TestLoopFindsTheSuccessorOfADueItem is late to look at an item that a Set has replaced.
func TestLoopFindsTheSuccessorOfADueItem(t *testing.T) {
	c, err := New(time.Minute, &Options[int, int]{ExactExpiry: true})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Set(1, 11))
	old, _ := c.items.Load(1)
	c.start = c.start.Add(-2 * time.Minute)
	require.NoError(t, c.Set(1, 12))
	it, left, ok := c.left(1, old)
	assert.True(t, ok)
	assert.Equal(t, 12, it.value)
	assert.Positive(t, left)
}

// TestDeniedItemStaysDenied arms the alarm again while lookups read the clock.
func TestDeniedItemStaysDenied(t *testing.T) {
	c, err := New(time.Hour, &Options[int, int]{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer c.Close()
	c.start = c.start.Add(-time.Hour)
	due := c.now()
	c.noteTimer(errors.New("full"))
	slow := c.denial.Load() // of a lookup that has not read the clock yet
	assert.True(t, c.denies(due))
	c.start = c.start.Add(time.Minute) // noteTimer read the clock before the lookup did
	c.noteTimer(nil)
	c.start = c.start.Add(-2 * time.Minute)
	assert.True(t, c.denies(due))
	assert.False(t, c.denies(due+1))
	assert.False(t, c.deniesBy(slow, due+1))
}
