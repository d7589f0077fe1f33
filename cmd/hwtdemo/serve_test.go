package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var watchAt = regexp.MustCompile(`Watch it at (http://127\.0\.0\.1:\d+/)`)

func TestServeShowsTheTimer(t *testing.T) {
	for _, line := range []string{
		"orders -orders 2000 -paid 0 -check-after 1m -serve 127.0.0.1:0",
		"orders -orders 2000 -paid 0 -check-after 1m -engine runtime -serve :0", // no host: this machine only
	} {
		ctx, cancel := context.WithCancel(t.Context())
		errOut, done := new(transcript), make(chan struct{})
		go func() {
			defer close(done)
			execute(ctx, strings.Fields(line), io.Discard, errOut)
		}()
		var page string
		require.Eventually(t, func() bool {
			if m := watchAt.FindStringSubmatch(errOut.String()); m != nil {
				page = m[1]
			}
			return page != ""
		}, 10*time.Second, 5*time.Millisecond, "%s: %s", line, errOut)
		assert.Eventually(t, func() bool {
			response, err := http.Get(page + "timers.json")
			if err != nil {
				return false
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			return err == nil && strings.Contains(string(body), `"pending": 2000`)
		}, 10*time.Second, 5*time.Millisecond, line)
		cancel()
		<-done
		http.DefaultClient.CloseIdleConnections()
	}
}

func TestServeRejectsAnAddressThatItCannotOpen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, address := range []string{"8080", "127.0.0.1:99999", taken.Addr().String()} {
		r := call("orders", "-orders", "10", "-serve", address)
		assert.Equal(t, 1, r.status, address)
		assert.Contains(t, r.errOut, `"`+address+`"`)
		assert.Contains(t, r.errOut, "-serve")
	}
}
