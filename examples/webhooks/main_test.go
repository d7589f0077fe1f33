package main

import (
	"context"
	"errors"
	"expvar"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// server is a transport that answers a second later with the result of status.
type server struct {
	status        func(post int64) int // 0 for an error
	posts         atomic.Int64
	running, most atomic.Int64
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	if n := s.running.Add(1); n > s.most.Load() {
		s.most.Store(n)
	}
	defer s.running.Add(-1)
	select {
	case <-time.After(time.Second):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	code := s.status(s.posts.Add(1))
	if code == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: code, Body: http.NoBody, Request: r}, nil
}

// send sends messages to two URLs, up to three concurrently, and returns the metrics.
func send(ctx context.Context, t *testing.T, messages int, s *server) (unsent int64, metrics func(name string) int64) {
	counts := new(expvar.Map)
	ctx, done := context.WithCancel(ctx)
	defer done()
	sender := &sender{
		urls:    []string{"http://shop.test/a", "http://shop.test/b"},
		client:  http.Client{Transport: s},
		metrics: counts,
		done:    done,
	}
	require.NoError(t, sender.sendAll(ctx, messages, 3))
	return sender.open.Load(), func(name string) int64 {
		if count, ok := counts.Get(name).(*expvar.Int); ok {
			return count.Value()
		}
		return 0
	}
}

func TestMessagesArriveDespiteFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: func(post int64) int { return []int{200, 503, 0}[post%3] }}
		unsent, metrics := send(t.Context(), t, 100, s)
		assert.Zero(t, unsent)
		assert.EqualValues(t, 100, metrics("delivered")+metrics("abandoned"))
		assert.Greater(t, metrics("delivered"), int64(80))
		assert.EqualValues(t, s.posts.Load(), metrics("delivered")+metrics("abandoned")+metrics("failed"))
		assert.EqualValues(t, 3, s.most.Load(), "concurrent posts")
	})
}

func TestMessageIsAbandonedAfterItsLastAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: func(int64) int { return 500 }}
		_, metrics := send(t.Context(), t, 1, s)
		assert.EqualValues(t, attempts, s.posts.Load())
		assert.EqualValues(t, 1, metrics("abandoned"))
		assert.Zero(t, metrics("delivered"))
	})
}

func TestInterruptLetsPostsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond) // Ctrl-C
		defer cancel()
		s := &server{status: func(int64) int { return 503 }}
		unsent, metrics := send(ctx, t, 3, s)
		assert.EqualValues(t, 3, unsent, "none was delivered")
		assert.EqualValues(t, s.posts.Load(), metrics("failed"), "no post was interrupted")
		assert.Zero(t, s.running.Load())
	})
}
