package engine

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/enginekit"
)

var deadlines = []int64{0, 1, 2, 1 << 40, forever - 1, forever}

func TestPendingWordHoldsDeadlineAndQueued(t *testing.T) {
	for _, d := range deadlines {
		l := newState(d)
		w := l.load()
		assert.Equal(t, d, w.Deadline())
		assert.NotZero(t, w&queued, "a new timeout is queued")
		assert.False(t, w.HasEnded() || w.IsCancelled() || w.IsExpired())
		assert.Equal(t, d, l.dequeue().Deadline())
		assert.Zero(t, l.load()&queued)
	}
	assert.EqualValues(t, int64(math.MaxInt64), newState(forever).word|int64(enginekit.PendingWord(0).Cancelled()&math.MaxInt64), "the whole word is used")
}

func TestCancelEndsOnceAndKeepsTheDeadline(t *testing.T) {
	for _, d := range deadlines {
		l := newState(d)
		was, ok := l.cancel()
		assert.True(t, ok)
		assert.EqualValues(t, newState(d).word, was)
		assert.True(t, l.load().HasEnded() && l.load().IsCancelled() && !l.load().IsExpired())
		assert.Equal(t, d, l.load().Deadline())
		stands := l.load()
		_, ok = l.cancel()
		assert.False(t, ok)
		assertEnded(t, stands, &l)
	}
}

func TestExpireEndsOnceItsDeadlineHasCome(t *testing.T) {
	for _, d := range deadlines[:len(deadlines)-1] { // forever never comes
		for _, inQueue := range []bool{true, false} {
			l := newState(d)
			if !inQueue {
				l.dequeue()
			}
			_, ok := l.expire(d - 1)
			assert.False(t, ok, "early")
			assert.False(t, l.load().HasEnded())
			w, ok := l.expire(d)
			assert.True(t, ok)
			assert.Equal(t, d, w.Deadline())
			assert.True(t, l.load().HasEnded() && l.load().IsExpired() && !l.load().IsCancelled())
			assert.Equal(t, d, l.load().Deadline())
			assertEnded(t, l.load(), &l)
		}
	}
}

// assertEnded asserts that nothing revives an ended word (L1), and that only dequeue
// changes it (L3).
func assertEnded(t *testing.T, stands enginekit.Word, l *state) {
	t.Helper()
	_, ok := l.cancel()
	assert.False(t, ok)
	_, ok = l.expire(math.MaxInt64)
	assert.False(t, ok)
	_, ok = l.rearm(5)
	assert.False(t, ok)
	assert.Equal(t, stands, l.load())
	assert.Equal(t, stands&^queued, l.dequeue())
	assert.Equal(t, stands&^queued, l.load())
}

func TestRearmQueuesAnEarlierDeadline(t *testing.T) {
	for _, c := range []struct {
		name    string
		inQueue bool
		to      int64
		queued  bool
	}{
		{"later", false, 101, false},
		{"the same", false, 100, false},
		{"sooner", false, 99, true},
		{"never", false, forever, false},
		{"now", false, 0, true},
		{"sooner, while in a queue", true, 99, true},
		{"later, while in a queue", true, 101, true},
	} {
		l := newState(100)
		if !c.inQueue {
			l.dequeue()
		}
		before := l.load()
		was, ok := l.rearm(c.to)
		assert.True(t, ok, c.name)
		assert.Equal(t, before, was, c.name)
		assert.Equal(t, c.to, l.load().Deadline(), c.name)
		assert.Equal(t, c.queued, l.load()&queued != 0, c.name)
	}
}
