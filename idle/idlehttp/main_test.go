package idlehttp_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/idle/idlehttp"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// timeout is the idle timeout of the servers in a bubble, and tick the maximum
// lateness of a close.
const (
	timeout = 10 * time.Second
	tick    = time.Second
)

// newReaper returns a reaper on a new timer. Both are stopped when the test ends.
func newReaper(t *testing.T, tick, timeout time.Duration) *idle.Reaper {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: tick})
	require.NoError(t, err)
	reaper, err := idle.New(timer, timeout, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		reaper.Close()
		timer.Stop()
	})
	return reaper
}

// pipes is a listener of pipes. It lets a server and its clients run in a bubble.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.accept <- near:
		return far, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// service is a server and a client of net/http that talk through pipes.
type service struct {
	*http.Client
	*idle.Reaper
	listener *pipes
}

// serve starts a server. setUp may change it before HoldHandlers does.
func serve(t *testing.T, http2 bool, handler http.HandlerFunc, setUp ...func(*http.Server)) *service {
	s := &service{Reaper: newReaper(t, tick, timeout), listener: newPipes()}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2)
	server := &http.Server{Handler: handler, Protocols: protocols}
	for _, f := range setUp {
		f(server)
	}
	idlehttp.HoldHandlers(server)
	go server.Serve(s.Reaper.Listener(s.listener))
	transport := &http.Transport{DialContext: s.listener.Dial, Protocols: protocols}
	s.Client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	return s
}

// get makes a request and returns the body of the response.
func get(t *testing.T, client *http.Client, url string) string {
	r, err := client.Get(url)
	if !assert.NoError(t, err) {
		return ""
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	assert.NoError(t, err)
	return string(body)
}

// inBubble runs f in a bubble, once with HTTP/1.1 and once with HTTP/2.
func inBubble(t *testing.T, f func(t *testing.T, http2 bool)) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			enginetest.Bubble(t, func(t *testing.T) { f(t, http2) })
		})
	}
}

type watchKey struct{}

// withWatch is a ConnContext that lets handlers find their connection's watch.
func withWatch(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, watchKey{}, idle.WatchOf(c))
}
