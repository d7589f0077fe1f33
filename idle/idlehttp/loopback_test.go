package idlehttp_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/idle/idlehttp"
)

// These tests are on loopback and the real clock.

func listen(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

// ended is a channel that the reaper closes.
type ended chan struct{}

func (e ended) Close() error {
	close(e)
	return nil
}

// TestOnLoopback answers a short request while a long one runs. The long one waits
// until the reaper has closed others that had the same timeout.
func TestOnLoopback(t *testing.T) {
	for name, start := range map[string]func(*httptest.Server){
		"http": (*httptest.Server).Start, "https": (*httptest.Server).StartTLS,
		"http2": func(s *httptest.Server) {
			s.EnableHTTP2 = true
			s.StartTLS()
		},
	} {
		t.Run(name, func(t *testing.T) {
			reaper := newReaper(t, time.Millisecond, time.Hour)
			short := make(chan struct{})
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				if q.URL.Path == "/long" {
					watch := q.Context().Value(watchKey{}).(*idle.Watch)
					<-short
					watch.SetTimeout(20 * time.Millisecond)
					for range 3 {
						other := make(ended)
						reaper.Watch(other).SetTimeout(20 * time.Millisecond)
						<-other
					}
					watch.SetTimeout(0)
				}
				io.WriteString(w, q.Proto)
			}))
			server.Listener.Close()
			server.Listener = reaper.Listener(listen(t))
			server.Config.ConnContext = withWatch
			idlehttp.HoldHandlers(server.Config)
			start(server)
			defer server.Close()
			long := make(chan string)
			go func() { long <- get(t, server.Client(), server.URL+"/long") }()
			proto := get(t, server.Client(), server.URL+"/short")
			close(short)
			assert.Equal(t, proto, <-long)
			assert.Equal(t, name == "http2", proto == "HTTP/2.0")
		})
	}
}

func TestClientThatDoesNotReadIsClosed(t *testing.T) {
	reaper := newReaper(t, time.Millisecond, time.Hour)
	failed := make(chan error, 1)
	server := &http.Server{ConnContext: withWatch, Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		q.Context().Value(watchKey{}).(*idle.Watch).SetTimeout(100 * time.Millisecond)
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				failed <- err
				return
			}
		}
	})}
	idlehttp.HoldHandlers(server)
	l := listen(t)
	go server.Serve(reaper.Listener(l))
	defer server.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: server\r\n\r\n")
	require.NoError(t, err)
	assert.ErrorIs(t, <-failed, idle.ErrIdle)
}

func TestConnectionThatIsNotWatched(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	idlehttp.HoldHandlers(server.Config)
	server.Start()
	defer server.Close()
	assert.Contains(t, get(t, server.Client(), server.URL), "404")
}

func TestDefaultHandler(t *testing.T) {
	server := &http.Server{}
	idlehttp.HoldHandlers(server)
	recorder := httptest.NewRecorder()
	server.Handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/none", nil))
	assert.Equal(t, http.StatusNotFound, recorder.Code)
}
