package inspect_test

import (
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/runtimetimer"
)

type pendings struct {
	Timers []struct {
		Name    string
		Pending []struct {
			Deadline *time.Time
			Left     int64 `json:"left_ns"`
			Task     string
		}
	}
}

func TestPendingTimeoutsAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer := newTimer(t)
		runtime, err := runtimetimer.New(nil)
		require.NoError(t, err)
		defer runtime.Stop()
		add(t, timer, 3000, time.Hour)
		add(t, timer, 1, 1<<63-1)
		_, err = timer.AfterFunc(time.Minute, func() {})
		require.NoError(t, err)
		add(t, runtime, 2, time.Hour)
		h := show(map[string]hwt.Timer{"orders": timer, "runtime": runtime, "wrapped": struct{ hwt.Timer }{timer}})

		all := decode[pendings](t, get(h, "pending.json").Body)
		assert.Len(t, all.Timers[0].Pending, 3002)
		assert.Len(t, all.Timers[1].Pending, 2)
		assert.Empty(t, all.Timers[2].Pending)

		first := decode[pendings](t, get(h, "pending.json?timer=orders&n=3").Body)
		require.Len(t, first.Timers, 1)
		var lefts []time.Duration
		for _, p := range first.Timers[0].Pending {
			lefts = append(lefts, time.Duration(p.Left))
			assert.Equal(t, time.Now().Add(time.Duration(p.Left)).UTC(), p.Deadline.UTC())
		}
		assert.Equal(t, []time.Duration{time.Minute, time.Hour, time.Hour + time.Second}, lefts)
		assert.Equal(t, "inspect_test.job", first.Timers[0].Pending[1].Task)

		within := decode[pendings](t, get(h, "pending.json?timer=orders&within=1h0m9s&task=job").Body)
		assert.Len(t, within.Timers[0].Pending, 10)
		never := decode[pendings](t, get(h, "pending.json?timer=orders&n=10000&task=job").Body)
		require.Len(t, never.Timers[0].Pending, 3001)
		assert.Nil(t, never.Timers[0].Pending[3000].Deadline, "endless timeouts are last")
	})
}

func TestBadQueryErrorNamesTheRange(t *testing.T) {
	h := show(map[string]hwt.Timer{"orders": newTimer(t)})
	for query, message := range map[string]string{
		"n=0":          `n: "0" (expected: 1 to 10000)`,
		"n=10001":      `n: "10001" (expected: 1 to 10000)`,
		"n=many":       `n: "many" (expected: 1 to 10000)`,
		"within=5":     `within: "5" (expected: a duration of 0 or more, such as 1m30s)`,
		"within=-1s":   `within: "-1s" (expected: a duration of 0 or more, such as 1m30s)`,
		"timer=others": `timer: "others" (expected: a name in timers.json)`,
		"limit=5":      `"limit": unknown (expected: timer, n, task or within)`,
	} {
		w := get(h, "pending.json?"+query)
		assert.Equal(t, http.StatusBadRequest, w.Code, query)
		assert.Equal(t, message+"\n", w.Body.String())
	}
}

// endless is a timer with endless pending timeouts.
type endless struct {
	hwt.Timer
	timeout hwt.Timeout
	taken   int
}

func (e *endless) All() iter.Seq[hwt.Timeout] {
	return func(yield func(hwt.Timeout) bool) {
		for e.taken < 100_000 && yield(e.timeout) {
			e.taken++
		}
	}
}

// narrow is a client that disconnects after some bytes.
type narrow struct {
	*httptest.ResponseRecorder
	room int
}

func (n *narrow) Write(p []byte) (int, error) {
	if n.room -= len(p); n.room < 0 {
		return 0, errors.New("the client is gone")
	}
	return len(p), nil
}

func TestPendingStopsWhenTheClientIsGone(t *testing.T) {
	timer := newTimer(t)
	timeout, err := timer.NewTimeout(job{}, time.Hour)
	require.NoError(t, err)
	e := &endless{Timer: timer, timeout: timeout}
	w := &narrow{httptest.NewRecorder(), 1 << 20}
	show(map[string]hwt.Timer{"endless": e}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/hwt/pending.json", nil))
	assert.Greater(t, e.taken, 5000)
	assert.Less(t, e.taken, 50_000)
}
