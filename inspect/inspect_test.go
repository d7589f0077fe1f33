package inspect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/inspect"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// job is a task with a name of its own.
type job struct{}

func (job) Run(hwt.Timeout) error { return nil }

func newTimer(t *testing.T) *hashedwheel.Timer {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond, TicksPerWheel: 1024})
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	return timer
}

// add schedules n jobs, one a second from first on.
func add(t *testing.T, timer hwt.Timer, n int, first time.Duration) {
	for i := range n {
		_, err := timer.NewTimeout(job{}, first+time.Duration(i)*time.Second)
		require.NoError(t, err)
	}
}

// get asks a handler for a path below its own.
func get(h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/debug/hwt/"+path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func show(timers map[string]hwt.Timer) http.Handler {
	return inspect.Handler(&inspect.Options{Timers: timers})
}

func TestBrowsersGetThePageAndOthersPlainText(t *testing.T) {
	timer := newTimer(t)
	add(t, timer, 3, time.Hour)
	h := show(map[string]hwt.Timer{"orders": timer})

	w := get(h, "", "Accept", "text/html,application/xhtml+xml")
	assert.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	assert.Contains(t, w.Body.String(), "<title>hwt timers</title>")
	assert.NotContains(t, w.Body.String(), "/*script*/")

	w = get(h, "", "Accept", "*/*")
	assert.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
	assert.Contains(t, w.Body.String(), "orders\n  pending")
	assert.Contains(t, w.Body.String(), "inspect_test.job")
}

func TestThePageMayRunNothingButItsOwn(t *testing.T) {
	w := get(show(nil), "", "Accept", "text/html")
	policy := w.Header().Get("Content-Security-Policy")
	assert.Regexp(t, `^default-src 'none'; img-src data:; connect-src 'self'; style-src 'sha256-[^ ]+'; script-src 'sha256-[^ ]+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$`, policy)
	assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	body := strings.ReplaceAll(w.Body.String(), "http://www.w3.org/2000/svg", "")
	assert.NotRegexp(t, `https?://|style=|innerHTML| on[a-z]+=`, body)
}

func TestOnlyKnownPathsAndMethodsAreServed(t *testing.T) {
	h := show(nil)
	assert.Equal(t, http.StatusNotFound, get(h, "other").Code)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/debug/hwt/timers.json", nil))
	assert.Equal(t, http.StatusMethodNotAllowed, w.Code)
	assert.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/debug/hwt/events", nil))
	assert.Equal(t, http.StatusOK, w.Code)
}

// decode reads JSON into a T.
func decode[T any](t *testing.T, r io.Reader) (v T) {
	t.Helper()
	require.NoError(t, json.NewDecoder(r).Decode(&v))
	return v
}

type counts struct {
	Timers []struct {
		Name, Type string
		Workers    int
		Stats      map[string]any
	}
}

func TestTimersHaveTheCountsOfStats(t *testing.T) {
	timer := newTimer(t)
	levels, err := hierarchical.New(&hierarchical.Options{Workers: 3})
	require.NoError(t, err)
	defer levels.Stop()
	add(t, timer, 5, time.Hour)
	got := decode[counts](t, get(show(map[string]hwt.Timer{
		"orders": timer, "levels": levels, "wrapped": struct{ hwt.Timer }{timer}, "nil": nil,
	}), "timers.json").Body)
	require.Len(t, got.Timers, 3)
	assert.Equal(t, "levels", got.Timers[0].Name)
	assert.Equal(t, 3, got.Timers[0].Workers)
	assert.Equal(t, "hashedwheel.Timer", got.Timers[1].Type)
	assert.EqualValues(t, 5, got.Timers[1].Stats["pending"])
	assert.EqualValues(t, 5, got.Timers[1].Stats["accepted"])
	assert.Contains(t, got.Timers[1].Stats, "max_lag_ns")
	assert.Contains(t, got.Timers[1].Stats["lateness"], "p99_ns")
	assert.Nil(t, got.Timers[2].Stats)
}

func TestTimersMayComeAndGo(t *testing.T) {
	timer, extra := newTimer(t), map[string]hwt.Timer{}
	h := inspect.Handler(&inspect.Options{Timers: map[string]hwt.Timer{"a": timer}, More: func() map[string]hwt.Timer { return extra }})
	assert.Len(t, decode[counts](t, get(h, "timers.json").Body).Timers, 1)
	extra = map[string]hwt.Timer{"a": timer, "b": timer}
	assert.Len(t, decode[counts](t, get(h, "timers.json").Body).Timers, 2)
}

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
		assert.Nil(t, never.Timers[0].Pending[3000].Deadline, "what never comes is last")
	})
}

func TestABadQueryIsRefusedWithTheRange(t *testing.T) {
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

// endless is a timer on which ever more is pending.
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

// narrow is a client that goes away after some bytes.
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

func TestPendingIsStreamedUntilTheClientGoes(t *testing.T) {
	timer := newTimer(t)
	timeout, err := timer.NewTimeout(job{}, time.Hour)
	require.NoError(t, err)
	e := &endless{Timer: timer, timeout: timeout}
	w := &narrow{httptest.NewRecorder(), 1 << 20}
	show(map[string]hwt.Timer{"endless": e}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/hwt/pending.json", nil))
	assert.Greater(t, e.taken, 5000)
	assert.Less(t, e.taken, 50_000)
}

// watch opens the events of a handler, which end with the context.
type watch struct {
	*httptest.ResponseRecorder
	events chan string
	seen   map[string][]string // by topic, those that no call asked for yet
}

func (w *watch) Write(p []byte) (int, error) {
	w.events <- string(p)
	return len(p), nil
}

func open(ctx context.Context, h http.Handler) *watch {
	w := &watch{httptest.NewRecorder(), make(chan string, 100), make(map[string][]string)}
	go func() {
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/hwt/events", nil).WithContext(ctx))
		close(w.events)
	}()
	return w
}

// next returns the data of the next event of a topic, whatever came of others before.
func (w *watch) next(t *testing.T, topic string) string {
	t.Helper()
	for len(w.seen[topic]) == 0 {
		e, ok := <-w.events
		require.True(t, ok, "the events ended")
		name, data, ok := strings.Cut(strings.TrimPrefix(e, "event: "), "\ndata: ")
		require.True(t, ok && strings.HasSuffix(data, "\n\n"), e)
		w.seen[name] = append(w.seen[name], strings.TrimSpace(data))
	}
	first := w.seen[topic][0]
	w.seen[topic] = w.seen[topic][1:]
	return first
}

func TestEventsShowWhatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer := newTimer(t)
		add(t, timer, 10, 3*time.Second)
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		w := open(ctx, show(map[string]hwt.Timer{"orders": timer}))
		assert.Contains(t, w.next(t, "hello"), `"instance"`)
		assert.Contains(t, w.next(t, "stats"), `"pending":10`)

		type wheels struct {
			Timers map[string][][]struct {
				Buckets  int
				Hand     float64
				Segments []int
			}
		}
		before := decode[wheels](t, strings.NewReader(w.next(t, "rings"))).Timers["orders"][0][0]
		assert.Equal(t, 1024, before.Buckets)
		require.Len(t, before.Segments, 512)
		sum := 0
		for i, n := range before.Segments {
			if sum += n; i >= 150 && i <= 511 && (2*i-300)%100 == 0 {
				assert.Equal(t, 1, n, "one is due at tick %d", 2*i)
			}
		}
		assert.Equal(t, 10, sum)
		assert.Contains(t, w.next(t, "waiting"), `"tasks":[{"name":"inspect_test.job","count":10}]`)
		after := decode[wheels](t, strings.NewReader(w.next(t, "rings"))).Timers["orders"][0][0]
		assert.Equal(t, 100.0, after.Hand-before.Hand, "a second is 100 ticks")

		for strings.Contains(w.next(t, "stats"), `"expired":0,`) {
		}
		cancel()
		for range w.events {
		}
	})
}

// TestNothingRunsUnlessAPageIsOpen counts the looks at the timers.
func TestNothingRunsUnlessAPageIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int64
		h := inspect.Handler(&inspect.Options{More: func() map[string]hwt.Timer { looks.Add(1); return nil }})
		for range 2 { // they may come again
			time.Sleep(time.Minute)
			require.Zero(t, looks.Load())
			ctx, cancel := context.WithCancel(t.Context())
			first, second := open(ctx, h), open(ctx, h)
			go func() {
				for range second.events {
				}
			}()
			first.next(t, "stats")
			first.next(t, "rings")
			first.next(t, "stats")
			cancel()
			for range first.events {
			}
			synctest.Wait()
			require.NotZero(t, looks.Swap(0))
		}
		time.Sleep(time.Minute)
		assert.Zero(t, looks.Load())
	})
}

func TestAPanicOfUsersCodeIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := open(ctx, inspect.Handler(&inspect.Options{More: func() map[string]hwt.Timer { panic("no timers today") }}))
		assert.Contains(t, w.next(t, "problem"), "no timers today")
		cancel()
		for range w.events {
		}
	})
}

func TestAShutdownEndsTheEvents(t *testing.T) {
	server := httptest.NewUnstartedServer(show(map[string]hwt.Timer{"orders": newTimer(t)}))
	server.Config.WriteTimeout = 50 * time.Millisecond // is for answers that end
	server.Start()
	defer server.Close()
	response, err := server.Client().Get(server.URL + "/debug/hwt/events")
	require.NoError(t, err)
	defer response.Body.Close()
	assert.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	seen := make([]byte, 4<<10)
	for range 4 { // past the write timeout
		_, err = response.Body.Read(seen)
		require.NoError(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, server.Config.Shutdown(ctx))
	_, err = io.Copy(io.Discard, response.Body)
	assert.NoError(t, err)
	server.Client().CloseIdleConnections()
}

func TestWhereTimeoutsWereScheduledIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer, err := hashedwheel.New(&hashedwheel.Options{RecordCallers: true})
		require.NoError(t, err)
		defer timer.Stop()
		add(t, timer, 3, time.Hour)
		h := show(map[string]hwt.Timer{"orders": timer})
		assert.Regexp(t, `"scheduled_at":"[^"]*inspect_test.add \([^"]*/inspect_test.go:\d+\)"`, get(h, "pending.json?n=1").Body.String())

		ctx, cancel := context.WithCancel(t.Context())
		w := open(ctx, h)
		assert.Regexp(t, `"sites":\[{"name":"[^"]*inspect_test.add \([^"]*","count":3}\]`, w.next(t, "waiting"))
		cancel()
		for range w.events {
		}
	})
}

func TestTasksBeyondALimitAreCountedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer := newTimer(t)
		add(t, timer, 7, time.Hour)
		for i := range 30 {
			_, err := timer.AfterFunc(time.Hour, funcs[i])
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		w := open(ctx, show(map[string]hwt.Timer{"orders": timer}))
		data := w.next(t, "waiting")
		assert.Contains(t, data, `"tasks":[{"name":"inspect_test.job","count":7}`)
		assert.Contains(t, data, `{"name":"others","count":11}]`)
		cancel()
		for range w.events {
		}
	})
}

// A section shows figures of the program's own, here those of a pool of connections.
func ExampleNewSection() {
	open, idle := 12, 5
	pool := inspect.NewSection("Connections", func(context.Context) ([]inspect.Block, error) {
		return []inspect.Block{
			{Figures: []inspect.Figure{
				{Name: "open", Value: open},
				{Name: "longest wait", Value: 20 * time.Millisecond, Bad: true},
			}},
			{Title: "By state", Bars: []inspect.Figure{{Name: "idle", Value: idle}, {Name: "busy", Value: open - idle}}},
		}, nil
	})
	h := inspect.Handler(&inspect.Options{Sections: []inspect.Section{pool}})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/hwt/", nil)) // as curl does
	fmt.Print(w.Body)
	// Output:
	// Connections
	//   open          12
	//   longest wait  20ms
	//   By state
	//   idle  5
	//   busy  7
	//
	// See also timers.json, sections.json, and pending.json?timer=&n=&task=&within=
}

func Example() {
	timer, err := hashedwheel.New(nil)
	if err != nil {
		panic(err)
	}
	defer timer.Stop()
	mux := http.NewServeMux()
	mux.Handle("/debug/hwt/", inspect.Handler(&inspect.Options{
		Timers: map[string]hwt.Timer{"orders": timer},
	}))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/hwt/timers.json", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 application/json
}
