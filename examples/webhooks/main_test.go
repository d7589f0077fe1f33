package main

import (
	"context"
	"errors"
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

// send sends messages, up to concurrent at a time.
func send(ctx context.Context, t *testing.T, messages int, s *server) *sender {
	ctx, done := context.WithCancel(ctx)
	defer done()
	sender := &sender{url: "http://shop.test", client: http.Client{Transport: s}, done: done}
	require.NoError(t, sender.sendAll(ctx, messages))
	return sender
}

func TestMessagesArriveDespiteFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: func(post int64) int { return []int{200, 503, 0}[post%3] }}
		sent := send(t.Context(), t, 100, s)
		assert.Zero(t, sent.open.Load())
		assert.EqualValues(t, 100, sent.delivered.Load()+sent.abandoned.Load())
		assert.Greater(t, sent.delivered.Load(), int64(80))
		assert.EqualValues(t, concurrent, s.most.Load(), "concurrent posts")
	})
}

func TestMessageIsAbandonedAfterItsLastAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: func(int64) int { return 500 }}
		sent := send(t.Context(), t, 1, s)
		assert.EqualValues(t, attempts, s.posts.Load())
		assert.EqualValues(t, 1, sent.abandoned.Load())
		assert.Zero(t, sent.delivered.Load())
	})
}

func TestInterruptLetsPostsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond) // Ctrl-C
		defer cancel()
		s := &server{status: func(int64) int { return 503 }}
		assert.EqualValues(t, 3, send(ctx, t, 3, s).open.Load(), "no message was delivered")
		assert.Zero(t, s.running.Load())
		assert.GreaterOrEqual(t, s.posts.Load(), int64(3), "no post was interrupted")
	})
}
