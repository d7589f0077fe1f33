package main

import (
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

// server is a transport that answers after a second with what status returns.
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
	time.Sleep(time.Second)
	code := s.status(s.posts.Add(1))
	if code == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: code, Body: http.NoBody, Request: r}, nil
}

// send sends messages to two URLs of a host, three at a time, and returns the metrics.
func send(t *testing.T, messages int, s *server) (metrics func(name string) int64) {
	counts := new(expvar.Map)
	sender := &sender{
		urls:    []string{"http://shop.test/a", "http://shop.test/b"},
		client:  http.Client{Transport: s},
		metrics: counts,
	}
	require.NoError(t, sender.sendAll(messages, 10, 3))
	return func(name string) int64 {
		if count, ok := counts.Get(name).(*expvar.Int); ok {
			return count.Value()
		}
		return 0
	}
}

func TestEveryMessageArrivesAtAServerThatFailsNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: func(post int64) int { return []int{200, 503, 0}[post%3] }}
		metrics := send(t, 100, s)
		assert.EqualValues(t, 100, metrics("new"))
		assert.EqualValues(t, 100, metrics("delivered")+metrics("given up"))
		assert.Greater(t, metrics("delivered"), int64(80))
		assert.EqualValues(t, s.posts.Load(), metrics("delivered")+metrics("given up")*attempts+metrics("failed")-metrics("given up")*(attempts-1))
		assert.Positive(t, metrics("refused"), "the queue was full")
		assert.EqualValues(t, 3, s.most.Load(), "posts to a host at a time")
	})
}

func TestAMessageIsGivenUpAfterItsLastAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: func(int64) int { return 500 }}
		metrics := send(t, 1, s)
		assert.EqualValues(t, attempts, s.posts.Load())
		assert.EqualValues(t, 1, metrics("given up"))
		assert.Zero(t, metrics("delivered"))
	})
}
