package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tests in this file use real connections and therefore the real clock. They do not
// depend on durations.

// patient returns a service whose timeouts exceed any test.
func patient() *service {
	return &service{
		request: time.Hour, idle: time.Hour, receipt: time.Hour, grace: time.Hour,
		take: func(context.Context, *http.Request) error { return nil },
		mail: func(context.Context) error { return nil },
	}
}

// start runs a service. stop acts like SIGTERM and returns the error of run.
func start(t *testing.T, s *service) (addr string, stop func() error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx, listener) }()
	return listener.Addr().String(), func() error {
		cancel()
		return <-ended
	}
}

// order sends a request by HTTP/1.1 or HTTP/2.
func order(t *testing.T, addr string, http2 bool) (status int, answer string) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get("http://" + addr + "/order")
	if !assert.NoError(t, err) {
		return 0, ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	assert.NoError(t, err)
	return response.StatusCode, string(body)
}

// wait returns when ctx ends, or after a short time.
func wait(ctx context.Context) error { return work(ctx, 100*time.Millisecond) }

func TestRequestHasADeadline(t *testing.T) {
	s := patient()
	s.request = 50 * time.Millisecond
	s.take = func(ctx context.Context, _ *http.Request) error { return work(ctx, time.Hour) }
	addr, stop := start(t, s)
	for _, http2 := range []bool{false, true} {
		status, answer := order(t, addr, http2)
		assert.Equal(t, http.StatusGatewayTimeout, status)
		assert.Equal(t, "context deadline exceeded\n", answer)
	}
	assert.NoError(t, stop())
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	s := patient()
	s.idle = 30 * time.Millisecond
	s.take = func(ctx context.Context, _ *http.Request) error { return wait(ctx) }
	addr, stop := start(t, s)
	for hello, want := range map[string]string{
		"GET /order HTTP/1.1\r\nHost: shop\r\n\r\n":                                 "200 OK", // A request in progress is not idle.
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00": "",       // empty SETTINGS
	} {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, hello)
		require.NoError(t, err)
		answer, _ := io.ReadAll(conn) // until it is closed
		assert.NotEmpty(t, answer)
		assert.Contains(t, string(answer), want)
	}
	assert.EqualError(t, stop(), "1 receipts were not due")
}

// begin returns a service that is mailing the receipt of one request and taking a second.
// Both call finish; answer receives the response to the second request.
func begin(t *testing.T, s *service, http2 bool, finish func(ctx context.Context) error) (stop func() error, answer <-chan string) {
	requests, begun := 0, make(chan bool)
	s.receipt = 0
	s.take = func(ctx context.Context, _ *http.Request) error {
		if requests++; requests == 1 {
			return nil
		}
		begun <- true
		return finish(ctx)
	}
	s.mail = func(ctx context.Context) error {
		begun <- true
		return finish(ctx)
	}
	addr, stop := start(t, s)
	status, _ := order(t, addr, http2)
	assert.Equal(t, http.StatusOK, status)
	<-begun
	answers := make(chan string, 1)
	go func() {
		_, answer := order(t, addr, http2)
		answers <- answer
	}()
	<-begun
	return stop, answers
}

func TestShutdownWaitsForWorkInProgress(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		var finished atomic.Int64
		stop, answer := begin(t, patient(), http2, func(ctx context.Context) error {
			defer finished.Add(1)
			return errors.Join(wait(ctx), errors.New("sold out"))
		})
		assert.NoError(t, stop())
		assert.EqualValues(t, 2, finished.Load())
		assert.Equal(t, "sold out\n", <-answer)
	}
}

func TestShutdownReportsUnfinishedWork(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		s := patient()
		s.grace = 50 * time.Millisecond
		stop, answer := begin(t, s, http2, func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		err := stop()
		assert.ErrorContains(t, err, "1 requests did not finish: context deadline exceeded")
		assert.ErrorContains(t, err, "mails did not finish: hwt: shutdown left 1 running and 0 waiting")
		assert.Equal(t, "the server is shutting down\n", <-answer)
	}
}
