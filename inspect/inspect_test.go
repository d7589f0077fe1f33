package inspect_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// job is a named task.
type job struct{}

func (job) Run(hwt.Timeout) error { return nil }

func newTimer(t *testing.T) *hashedwheel.Timer {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond, TicksPerWheel: 1024})
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	return timer
}

// add schedules n jobs, one per second, beginning at first.
func add(t *testing.T, timer hwt.Timer, n int, first time.Duration) {
	for i := range n {
		_, err := timer.NewTimeout(job{}, first+time.Duration(i)*time.Second)
		require.NoError(t, err)
	}
}

// get requests a path below the handler's.
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

func TestClientsWithoutHTMLGetPlainText(t *testing.T) {
	timer := newTimer(t)
	add(t, timer, 3, time.Hour)
	h := show(map[string]hwt.Timer{"orders": timer})

	w := get(h, "", "Accept", "text/html,application/xhtml+xml")
	assert.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	assert.Contains(t, w.Body.String(), "<title>hwt timers</title>")
	assert.NotContains(t, w.Body.String(), "/*script*/")

	w = get(h, "", "Accept", "text/plain;q=0.5, TEXT/HTML;q=0.9")
	assert.Contains(t, w.Header().Get("Content-Type"), "text/html")
	for _, accept := range []string{"", "text/html;q=0", "text/html; q=0.0, */*", "text/plain, text/html;q=0.5", "text/html;q=x", "text/htmlx", "application/text/html"} {
		assert.Contains(t, get(h, "", "Accept", accept).Header().Get("Content-Type"), "text/plain", accept)
	}
	w = get(h, "", "Accept", "*/*")
	assert.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
	assert.Contains(t, w.Body.String(), "orders\n  pending")
	assert.Contains(t, w.Body.String(), "inspect_test.job")
}

func TestPolicyAllowsOnlyThePageItself(t *testing.T) {
	w := get(show(nil), "", "Accept", "text/html")
	policy := w.Header().Get("Content-Security-Policy")
	assert.Regexp(t, `^default-src 'none'; img-src data:; connect-src 'self'; style-src 'sha256-[^ ]+'; script-src 'sha256-[^ ]+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$`, policy)
	assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	body := strings.ReplaceAll(w.Body.String(), "http://www.w3.org/2000/svg", "")
	assert.NotRegexp(t, `https?://|style=|innerHTML| on[a-z]+=`, body)
}

func TestUnknownPathsAndMethodsAreRejected(t *testing.T) {
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

func TestProxiesAreToldNotToHoldEvents(t *testing.T) {
	w := httptest.NewRecorder()
	show(nil).ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/debug/hwt/events", nil))
	assert.Equal(t, "no", w.Header().Get("X-Accel-Buffering"))
	assert.Equal(t, "no-store, no-transform", w.Header().Get("Cache-Control"))
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

func TestTimersContainStats(t *testing.T) {
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

func TestNilTimersAreLeftOut(t *testing.T) {
	h := show(map[string]hwt.Timer{"nil": nil, "typed": (*hashedwheel.Timer)(nil), "orders": newTimer(t)})
	got := decode[counts](t, get(h, "timers.json").Body)
	require.Len(t, got.Timers, 1)
	assert.Equal(t, "orders", got.Timers[0].Name)
	assert.Contains(t, get(h, "").Body.String(), "orders\n  pending")
}

func TestPlainTextShowsNamesWithoutControls(t *testing.T) {
	h := show(map[string]hwt.Timer{"\x1b[2Jor\rders\u202e": newTimer(t)})
	assert.Contains(t, get(h, "").Body.String(), "\ufffd[2Jor\ufffdders\ufffd\n  pending")
}

func TestDynamicTimersComeAndGo(t *testing.T) {
	timer, extra := newTimer(t), map[string]hwt.Timer{}
	h := inspect.Handler(&inspect.Options{Timers: map[string]hwt.Timer{"a": timer}, DynamicTimers: func() map[string]hwt.Timer { return extra }})
	assert.Len(t, decode[counts](t, get(h, "timers.json").Body).Timers, 1)
	extra = map[string]hwt.Timer{"a": timer, "b": timer}
	assert.Len(t, decode[counts](t, get(h, "timers.json").Body).Timers, 2)
}

func TestCallersAreShown(t *testing.T) {
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

func TestTasksBeyondTheLimitAreCountedTogether(t *testing.T) {
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
