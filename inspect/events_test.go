package inspect_test

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/inspect"
)

// watch opens the events of a handler, which end with the context.
type watch struct {
	*httptest.ResponseRecorder
	events chan string
	seen   map[string][]string // unread events by topic
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

// next returns the data of a topic's next event, and keeps those of other topics.
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

func TestEventsContainChanges(t *testing.T) {
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

// firstByte sends the address of the first byte of each event.
type firstByte struct {
	*httptest.ResponseRecorder
	events chan *byte
}

func (w firstByte) Write(p []byte) (int, error) {
	w.events <- &p[0]
	return len(p), nil
}

func TestWatchersShareTheBytesOfAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := show(map[string]hwt.Timer{"orders": newTimer(t)})
		events := make(chan *byte, 1000)
		for range 5 {
			request := httptest.NewRequest(http.MethodGet, "/debug/hwt/events", nil).WithContext(ctx)
			go h.ServeHTTP(firstByte{httptest.NewRecorder(), events}, request)
		}
		time.Sleep(1100 * time.Millisecond)
		cancel()
		synctest.Wait()
		close(events)
		seen := make(map[*byte]int)
		for p := range events {
			seen[p]++
		}
		assert.GreaterOrEqual(t, len(seen), 5)
		shared := 0
		for _, n := range seen {
			if n == 5 {
				shared++
			}
		}
		assert.GreaterOrEqual(t, shared, 5, "events that all five wrote")
	})
}

// TestTimersAreReadOnlyWhileAPageIsOpen counts the reads of the timers.
func TestTimersAreReadOnlyWhileAPageIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int64
		h := inspect.Handler(&inspect.Options{DynamicTimers: func() map[string]hwt.Timer { looks.Add(1); return nil }})
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

// slowAll is a timer whose loops take a second.
type slowAll struct {
	hwt.Engine
	loops atomic.Int64
}

func (s *slowAll) All() iter.Seq[hwt.Timeout] {
	s.loops.Add(1)
	time.Sleep(time.Second)
	return s.Engine.All()
}

func TestReloadedPageDoesNotScanMoreOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer := &slowAll{Engine: newTimer(t)}
		h := show(map[string]hwt.Timer{"orders": timer})
		for range 50 { // in ten seconds
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			w := open(ctx, h)
			w.next(t, "stats")
			for range w.events {
			}
			cancel()
		}
		assert.EqualValues(t, 1, timer.loops.Load())
		ctx, cancel := context.WithCancel(t.Context())
		w := open(ctx, h)
		w.next(t, "waiting")
		cancel()
		for range w.events {
		}
		synctest.Wait()
		assert.EqualValues(t, 2, timer.loops.Load())
	})
}

func TestFaultOfUserCodeIsShownUntilItEnds(t *testing.T) {
	for want, fault := range map[string]func(){
		"no timers today":     func() { panic("no timers today") },
		hwt.ErrGoexit.Error(): runtime.Goexit,
	} {
		synctest.Test(t, func(t *testing.T) {
			var fixed atomic.Bool
			ctx, cancel := context.WithCancel(t.Context())
			w := open(ctx, inspect.Handler(&inspect.Options{DynamicTimers: func() map[string]hwt.Timer {
				if !fixed.Load() {
					fault()
				}
				return nil
			}}))
			for _, topic := range []string{"stats", "rings", "waiting"} {
				assert.Contains(t, w.next(t, topic), `"error":"`)
			}
			assert.Contains(t, w.next(t, "stats"), want)
			fixed.Store(true)
			for _, topic := range []string{"stats", "rings", "waiting"} {
				for strings.Contains(w.next(t, topic), `"error":"`) {
				}
			}
			cancel()
			for range w.events {
			}
		})
	}
}

// TestClosedServerIsForgotten waits for the garbage collector, on the real clock.
func TestClosedServerIsForgotten(t *testing.T) {
	before := inspect.Servers()
	var gone atomic.Bool
	func() {
		server := httptest.NewServer(show(map[string]hwt.Timer{"orders": newTimer(t)}))
		defer server.Close()
		runtime.AddCleanup(server.Config, func(gone *atomic.Bool) { gone.Store(true) }, &gone)
		response, err := server.Client().Get(server.URL + "/debug/hwt/events")
		require.NoError(t, err)
		response.Body.Close()
		assert.Equal(t, before+1, inspect.Servers())
		require.NoError(t, server.Config.Close())
	}()
	assert.Eventually(t, func() bool {
		runtime.GC()
		return gone.Load() && inspect.Servers() == before
	}, 10*time.Second, 50*time.Millisecond)
}

func TestShutdownEndsEvents(t *testing.T) {
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
	again := make(chan struct{}, 2)
	server.Config.RegisterOnShutdown(func() { again <- struct{}{} })
	for range 2 {
		require.NoError(t, server.Config.Shutdown(ctx))
		<-again
	}
	_, err = io.Copy(io.Discard, response.Body)
	assert.NoError(t, err)
	server.Client().CloseIdleConnections()
}

// TestShutdownEndsLateEvents lets a request reach the handler after Shutdown has begun.
// Sockets need the real clock.
func TestShutdownEndsLateEvents(t *testing.T) {
	for _, first := range []string{"/", "/events"} {
		arrived, release, begun, ended := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan error, 2)
		h := show(map[string]hwt.Timer{"orders": newTimer(t)})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery == "late" {
				close(arrived)
				<-release
			}
			h.ServeHTTP(w, r)
		}))
		defer server.Close()
		defer server.CloseClientConnections() // Close waits for a page that does not end
		server.Config.RegisterOnShutdown(func() { close(begun) })
		get := func(path string) (*http.Response, error) {
			request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
			request.Header.Set("Accept", "text/html")
			return server.Client().Do(request)
		}
		response, err := get(first)
		require.NoError(t, err)
		defer response.Body.Close()
		go func() {
			response, err := get("/events?late")
			if err == nil {
				_, err = io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
			ended <- err
		}()
		<-arrived
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		go func() { ended <- server.Config.Shutdown(ctx) }()
		<-begun
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		close(release)
		for range 2 {
			require.NoError(t, <-ended, "after %s", first)
		}
		server.Client().CloseIdleConnections()
	}
}
