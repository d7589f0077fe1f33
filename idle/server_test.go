package idle_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/idle"
)

// These tests are on loopback and the real clock. Their timeouts are too long to
// expire, until a test makes one short and waits for the end.

func listen(t testing.TB) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func TestListenerHasTheMethodsOfItsListener(t *testing.T) {
	r := newReaper(t, newTimer(t, second), time.Hour)
	l := r.Listener(listen(t))
	require.NoError(t, l.(interface{ SetDeadline(time.Time) error }).SetDeadline(time.Now().Add(-second)))
	_, ok := l.(syscall.Conn)
	assert.True(t, ok)
	c, err := l.Accept()
	assert.Nil(t, c)
	assert.ErrorContains(t, err, "timeout")
	plain := r.Listener(struct{ net.Listener }{listen(t)})
	_, ok = plain.(syscall.Conn)
	assert.False(t, ok)
}

// watches collects the watches of a server's connections.
type watches struct {
	mu  sync.Mutex
	all []*idle.Watch // Guarded by mu.
}

func (w *watches) add(ctx context.Context, c net.Conn) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	watch := idle.WatchOf(c)
	w.all = append(w.all, watch)
	return context.WithValue(ctx, watchKey{}, watch)
}

func (w *watches) list() []*idle.Watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all
}

type watchKey struct{}

// serve starts an http.Server on a listener of a reaper, and returns both.
func serve(t *testing.T, handler http.HandlerFunc, start func(*httptest.Server), reported *events, open *watches) (*httptest.Server, *idle.Reaper) {
	r := newReaper(t, newTimer(t, time.Millisecond), time.Hour, &idle.Options{OnExpire: reported.add})
	server := httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener = r.Listener(listen(t))
	server.Config.ConnContext = open.add
	start(server)
	t.Cleanup(server.Close)
	return server, r
}

// answer is a handler that answers with the protocol.
func answer(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	io.WriteString(w, q.Proto+" "+string(body))
}

// ask makes a request and reports whether the connection was used before.
func ask(t *testing.T, server *httptest.Server) (answer string, reused bool) {
	answer, reused, err := try(server)
	require.NoError(t, err)
	return answer, reused
}

func try(server *httptest.Server) (answer string, reused bool, err error) {
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused },
	})
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		return "", false, err
	}
	response, err := server.Client().Do(q)
	if err != nil {
		return "", reused, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), reused, err
}

func TestHTTPServers(t *testing.T) {
	for name, c := range map[string]struct {
		start func(*httptest.Server)
		proto string
	}{
		"http1": {(*httptest.Server).Start, "HTTP/1.1 "},
		"tls1":  {(*httptest.Server).StartTLS, "HTTP/1.1 "},
		"http2": {func(s *httptest.Server) {
			s.EnableHTTP2 = true
			s.StartTLS()
		}, "HTTP/2.0 "},
	} {
		t.Run(name, func(t *testing.T) {
			var reported events
			var open watches
			server, r := serve(t, answer, c.start, &reported, &open)
			again := 0 // on a connection used before, which a client does not always do
			eventually(t, func() bool {
				answer, reused, err := try(server)
				assert.NoError(t, err)
				assert.Equal(t, c.proto, answer)
				if reused {
					again++
				}
				return again == 2
			})
			assert.Len(t, open.list(), int(r.Stats().Accepted), "one watch for each connection")
			last := open.list()[len(open.list())-1]
			last.SetTimeout(20 * time.Millisecond)
			eventually(t, func() bool { return len(reported.list()) == 1 })
			assert.GreaterOrEqual(t, reported.list()[0].Idle, 20*time.Millisecond)
			eventually(t, func() bool { // an HTTP/2 client may notice late that its connection is gone
				_, reused, err := try(server)
				return err == nil && !reused
			})
			assert.EqualValues(t, 1, conserved(t, r).Idle)
		})
	}
}

func TestHandlerFindsItsWatch(t *testing.T) {
	for name, start := range map[string]func(*httptest.Server){
		"http": (*httptest.Server).Start, "https": (*httptest.Server).StartTLS,
	} {
		t.Run(name, func(t *testing.T) {
			var reported events
			var patient atomic.Bool
			server, r := serve(t, func(w http.ResponseWriter, q *http.Request) {
				watch := q.Context().Value(watchKey{}).(*idle.Watch)
				if patient.Load() {
					time.Sleep(time.Millisecond)
					began := time.Now()
					watch.Touch()
					assert.False(t, idle.Latest(watch).Before(began))
					io.WriteString(w, "done")
					return
				}
				watch.SetTimeout(20 * time.Millisecond)
				<-q.Context().Done() // the server reads on meanwhile, and notices
			}, start, &reported, &watches{})
			_, _, err := try(server)
			assert.Error(t, err, "the handler was silent for too long")
			assert.NotEmpty(t, reported.list())
			patient.Store(true)
			answer, _ := ask(t, server)
			assert.Equal(t, "done", answer)
			conserved(t, r)
		})
	}
}

// TestServerSendsAFile by the ReadFrom of its connection.
func TestServerSendsAFile(t *testing.T) {
	f := file(t, 1<<20)
	server, _ := serve(t, func(w http.ResponseWriter, q *http.Request) {
		http.ServeContent(w, q, "file", time.Time{}, f)
	}, (*httptest.Server).Start, &events{}, &watches{})
	got, _ := ask(t, server)
	assert.True(t, got == string(random(1<<20)))
}

func TestTLSOverAWatchedConnection(t *testing.T) {
	certificates := httptest.NewUnstartedServer(nil)
	certificates.StartTLS()
	defer certificates.Close()
	r := newReaper(t, newTimer(t, time.Millisecond), time.Hour)
	client, server := tcpPair(t)
	defer client.Close()
	over := tls.Server(r.Wrap(server), certificates.TLS)
	go tls.Client(client, &tls.Config{InsecureSkipVerify: true}).Handshake() // on loopback, to ourselves
	require.NoError(t, over.Handshake())
	watch := idle.WatchOf(over)
	require.NotNil(t, watch)
	watch.SetTimeout(20 * time.Millisecond)
	_, err := over.Read(make([]byte, 1))
	assert.ErrorIs(t, err, idle.ErrIdle)
	assert.ErrorIs(t, watch.Err(), idle.ErrIdle)
	assert.Nil(t, idle.WatchOf(client))
	assert.Nil(t, idle.WatchOf(nil))
}

// TestThousandPeersCloseAtTheMomentOfExpiry closes the clients' ends just when they
// expire, while the server's handlers close theirs at the end of file. It uses
// fewer connections where not so many files may be open.
func TestThousandPeersCloseAtTheMomentOfExpiry(t *testing.T) {
	const timeout, dialing = 400 * time.Millisecond, 50
	listen(t).Close() // from here on the runtime has opened its own files
	before := files()
	n := min(1000, (mayOpen()-before-dialing)/2)
	n -= n % dialing
	require.Positive(t, n)
	r := newReaper(t, newTimer(t, time.Millisecond), timeout)
	l := r.Listener(listen(t))
	var handlers, dialers sync.WaitGroup
	var served atomic.Int64
	handlers.Go(func() {
		for range n {
			c, err := l.Accept()
			if !assert.NoError(t, err) {
				return
			}
			handlers.Go(func() {
				defer served.Add(1)
				defer c.Close()
				_, err := io.Copy(io.Discard, c)
				if err != nil && idle.WatchOf(c).Err() != nil {
					assert.ErrorIs(t, err, idle.ErrIdle)
				}
			})
		}
	})
	for range dialing {
		dialers.Go(func() {
			for range n / dialing {
				c, err := net.Dial("tcp", l.Addr().String())
				if !assert.NoError(t, err) {
					return
				}
				time.AfterFunc(timeout, func() { c.Close() })
			}
		})
	}
	dialers.Wait()
	handlers.Wait()
	assert.EqualValues(t, n, served.Load())
	eventually(t, func() bool { return r.Stats().Closing == 0 })
	s := conserved(t, r)
	assert.EqualValues(t, n, s.Accepted)
	assert.Zero(t, s.Watched)
	t.Logf("the reaper closed %d, their handlers %d", s.Idle, s.Stopped)
	l.Close()
	eventually(t, func() bool { return files() <= before })
}
