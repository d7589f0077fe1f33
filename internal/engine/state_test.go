package engine

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

var deadlines = []int64{0, 1, 2, 1 << 40, forever - 1, forever}

func TestPendingWordHoldsDeadlineAndQueued(t *testing.T) {
	for _, d := range deadlines {
		w := newState(d)
		assert.Equal(t, d, deadlineOf(w))
		assert.NotZero(t, w&queued, "a new timeout is on its way into the intake")
		assert.False(t, ended(w) || wasCancelled(w) || wasExpired(w))
		assert.Equal(t, d, deadlineOf(dequeue(&w)))
		assert.Zero(t, w&queued)
	}
	assert.EqualValues(t, int64(math.MaxInt64), newState(forever), "the whole word is used")
}

func TestCancelEndsOnceAndKeepsTheDeadline(t *testing.T) {
	for _, d := range deadlines {
		l := newState(d)
		was, ok := cancel(&l)
		assert.True(t, ok)
		assert.Equal(t, newState(d), was)
		assert.True(t, ended(l) && wasCancelled(l) && !wasExpired(l))
		assert.Equal(t, d, deadlineOf(l))
		stands := l
		_, ok = cancel(&l)
		assert.False(t, ok)
		assertEnded(t, stands, &l)
	}
}

func TestExpireEndsOnceItsDeadlineHasCome(t *testing.T) {
	for _, d := range deadlines {
		for _, inQueue := range []bool{true, false} {
			l := newState(d)
			if !inQueue {
				dequeue(&l)
			}
			_, ok := expire(&l, d-1)
			assert.False(t, ok, "early")
			assert.False(t, ended(l))
			w, ok := expire(&l, d)
			assert.True(t, ok)
			assert.Equal(t, d, deadlineOf(w))
			assert.True(t, ended(l) && wasExpired(l) && !wasCancelled(l))
			assert.Equal(t, d, deadlineOf(l))
			assertEnded(t, l, &l)
		}
	}
}

// assertEnded asserts that nothing changes an ended word (L1).
func assertEnded(t *testing.T, stands state, l *state) {
	t.Helper()
	_, ok := cancel(l)
	assert.False(t, ok)
	_, ok = expire(l, math.MaxInt64)
	assert.False(t, ok)
	_, ok = rearm(l, 5)
	assert.False(t, ok)
	assert.Equal(t, stands, dequeue(l))
	assert.Equal(t, stands, *l)
}

func TestRearmQueuesWhatIsEarlierThanTheWorkerKnows(t *testing.T) {
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
		{"at once", false, 0, true},
		{"sooner, while in a queue", true, 99, true},
		{"later, while in a queue", true, 101, true},
	} {
		l := newState(100)
		if !c.inQueue {
			dequeue(&l)
		}
		before := l
		was, ok := rearm(&l, c.to)
		assert.True(t, ok, c.name)
		assert.Equal(t, before, was, c.name)
		assert.Equal(t, c.to, deadlineOf(l), c.name)
		assert.Equal(t, c.queued, l&queued != 0, c.name)
	}
}
