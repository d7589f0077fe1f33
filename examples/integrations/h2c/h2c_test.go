// Package h2c_test tests idlehttp with handlers of golang.org/x/net, which the root module does
// not require.
package h2c_test

//lint:file-ignore SA1019 Package h2c is deprecated, and programs still use it.

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/idle/idlehttp"
)

const timeout = 100 * time.Millisecond

// slow works longer than the idle timeout. The sockets need the real clock.
var slow = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	time.Sleep(4 * timeout)
	if r.Context().Err() == nil {
		io.WriteString(w, r.Proto)
	}
})

func TestSlowHandlerKeepsItsConnection(t *testing.T) {
	for name, setUp := range map[string]func(*http.Server){
		"Server.Protocols": func(s *http.Server) {
			s.Handler, s.Protocols = slow, new(http.Protocols)
			s.Protocols.SetHTTP1(true)
			s.Protocols.SetUnencryptedHTTP2(true)
		},
		"h2c.NewHandler": func(s *http.Server) { s.Handler = h2c.NewHandler(slow, &http2.Server{}) },
		"h2c.NewHandler, configured": func(s *http.Server) {
			server := new(http2.Server)
			require.NoError(t, http2.ConfigureServer(s, server))
			s.Handler = h2c.NewHandler(slow, server)
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, setUp)
			assert.Equal(t, "HTTP/2.0", get(t, url, (*http.Protocols).SetUnencryptedHTTP2))
			assert.Equal(t, "HTTP/1.1", get(t, url, (*http.Protocols).SetHTTP1))
		})
	}
}

// serve starts a server with an idle timeout and returns its URL.
func serve(t *testing.T, setUp func(*http.Server)) (url string) {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	reaper, err := idle.New(timer, timeout, nil)
	require.NoError(t, err)
	t.Cleanup(func() { reaper.Close() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := new(http.Server)
	setUp(server)
	idlehttp.HoldHandlers(server)
	go server.Serve(reaper.Listener(l))
	t.Cleanup(func() { server.Close() })
	return "http://" + l.Addr().String()
}

// get returns the response of a request with one protocol.
func get(t *testing.T, url string, set func(*http.Protocols, bool)) string {
	protocols := new(http.Protocols)
	set(protocols, true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(text)
}
