package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/inspect"
)

func TestPageNeedsThePassword(t *testing.T) {
	h := protect("ops", "secret", inspect.Handler(nil))
	for _, c := range []struct {
		user, password string
		code           int
	}{{"", "", 401}, {"ops", "", 401}, {"ops", "secre", 401}, {"root", "secret", 401}, {"ops", "secret", 200}} {
		r := httptest.NewRequest(http.MethodGet, "/debug/hwt/timers.json", nil)
		if c.user != "" {
			r.SetBasicAuth(c.user, c.password)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.Equal(t, c.code, w.Code, "%s:%s", c.user, c.password)
	}
}
