package clock_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
)

// limit gives each request a deadline that the clock keeps.
func limit(c *clock.Clock, d time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := c.WithTimeout(r.Context(), d)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

type key struct{}

// get returns the status and the body.
func get(t *testing.T, client *http.Client, url string) (int, string) {
	response, err := client.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// TestHandlersOfAServerGetDeadlines runs on the real clock, because it needs sockets.
// Slow handlers wait for the deadline.
func TestHandlersOfAServerGetDeadlines(t *testing.T) {
	const allowed = 30 * time.Millisecond
	timer := newTimer(t)
	server := httptest.NewServer(limit(newClock(t, timer), allowed, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fast" {
			_, _ = io.WriteString(w, "fast")
			return
		}
		child, cancel := context.WithCancel(context.WithValue(r.Context(), key{}, "value"))
		defer cancel()
		<-child.Done()
		deadline, ok := child.Deadline()
		assert.True(t, ok && !time.Now().Before(deadline), "early")
		http.Error(w, child.Err().Error(), http.StatusGatewayTimeout)
	})))
	defer server.Close()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				status, body := get(t, server.Client(), server.URL+"/slow")
				assert.Equal(t, http.StatusGatewayTimeout, status)
				assert.Equal(t, "context deadline exceeded\n", body)
				status, body = get(t, server.Client(), server.URL+"/fast")
				assert.Equal(t, http.StatusOK, status)
				assert.Equal(t, "fast", body)
			}
		})
	}
	all.Wait()
	server.Close()
	assert.Zero(t, timer.Pending())
}

// TestClientThatLeavesCancelsTheHandlersContext has the context of a request as the
// parent.
func TestClientThatLeavesCancelsTheHandlersContext(t *testing.T) {
	timer := newTimer(t)
	began, ended, returned := make(chan struct{}), make(chan error, 1), make(chan struct{})
	handler := limit(newClock(t, timer), time.Hour, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		ended <- r.Context().Err()
	}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(returned) // the server does not wait for a handler whose client left
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	go func() {
		<-began
		cancel()
	}()
	_, err = server.Client().Do(request)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, context.Canceled, <-ended)
	<-returned
	assert.Zero(t, timer.Pending())
}

// TestClientsRequestEndsAtItsDeadline passes a context of a clock to the client of
// package net/http.
func TestClientsRequestEndsAtItsDeadline(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	ctx, cancel := newClock(t, newTimer(t)).WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	_, err = server.Client().Do(request)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}
