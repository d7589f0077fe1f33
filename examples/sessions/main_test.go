package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cache"
)

// browser is a user of the server.
type browser struct {
	t       *testing.T
	handler http.Handler
	cookie  *http.Cookie
}

func (b *browser) do(method, path string, form url.Values) *http.Response {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w.Result()
}

func (b *browser) login(user string) {
	response := b.do("POST", "/login", url.Values{"user": {user}})
	require.Len(b.t, response.Cookies(), 1)
	b.cookie = response.Cookies()[0]
	assert.True(b.t, b.in())
}

// in reports whether the user is logged in.
func (b *browser) in() bool { return b.do("GET", "/", nil).StatusCode == http.StatusOK }

// visit runs f in a bubble with a browser of a server whose sessions end after a minute
// without use or after an hour. ended returns the reason of the last end.
func visit(t *testing.T, f func(b *browser, ended func() cache.Reason)) {
	synctest.Test(t, func(t *testing.T) {
		var why cache.Reason
		sessions, err := cache.New(time.Hour, &cache.Options[string, string]{
			Sliding: time.Minute,
			OnEvict: func(_, user string, reason cache.Reason) {
				assert.Equal(t, "ada", user)
				why = reason
			},
		})
		require.NoError(t, err)
		defer sessions.Close()
		f(&browser{t: t, handler: handler(sessions)}, func() cache.Reason {
			synctest.Wait()
			return why
		})
	})
}

func TestSessionLastsWhileItIsUsed(t *testing.T) {
	visit(t, func(b *browser, ended func() cache.Reason) {
		assert.False(t, b.in())
		b.login("ada")
		for range 10 {
			time.Sleep(50 * time.Second)
			assert.True(t, b.in())
		}
		time.Sleep(62 * time.Second)
		assert.Equal(t, cache.ReasonExpired, ended())
		assert.False(t, b.in())
	})
}

func TestSessionEndsAtItsAge(t *testing.T) {
	visit(t, func(b *browser, ended func() cache.Reason) {
		b.login("ada")
		start := time.Now()
		for b.in() {
			time.Sleep(30 * time.Second)
		}
		assert.Equal(t, time.Hour, time.Since(start))
		time.Sleep(time.Second)
		assert.Equal(t, cache.ReasonExpired, ended())
	})
}

func TestLogoutIsFinal(t *testing.T) {
	visit(t, func(b *browser, ended func() cache.Reason) {
		b.login("ada")
		var requests sync.WaitGroup
		for range 100 {
			requests.Go(func() { b.in() })
		}
		b.do("POST", "/logout", nil)
		assert.False(t, b.in())
		requests.Wait()
		assert.False(t, b.in())
		assert.Equal(t, cache.ReasonDeleted, ended())
	})
}

func TestFailedLoginSetsNoCookie(t *testing.T) {
	sessions, err := cache.New[string, string](time.Hour, nil)
	require.NoError(t, err)
	sessions.Close()
	b := &browser{t: t, handler: handler(sessions)}
	response := b.do("POST", "/login", url.Values{"user": {"ada"}})
	assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	assert.Empty(t, response.Cookies())
}
