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

	"github.com/hashedwheel/hwt"
)

var watchAt = regexp.MustCompile(`Watch it at (http://127\.0\.0\.1:\d+/debug/hwt/)`)

func TestServeShowsTheTimerOfEachCommand(t *testing.T) {
	for _, line := range []string{
		"orders --orders 2000 --check-after 1s --serve :0",
		"orders --orders 2000 --check-after 1s --engine hierarchical --serve 127.0.0.1:0",
		"soak --for 1s --serve :0",
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
			return err == nil && strings.Contains(string(body), `"pending"`)
		}, 10*time.Second, 5*time.Millisecond, line)
		cancel()
		<-done
		http.DefaultClient.CloseIdleConnections()
	}
}

func TestServedTimersOfEveryEngineRecordCallers(t *testing.T) {
	for _, engine := range []string{nameHashed, nameHierarchical, nameRuntime} {
		for address, recorded := range map[string]bool{":0": true, "": false} {
			f := engineFlags{name: engine, tick: time.Millisecond, workers: 1, page: pageServer{address: address}}
			timer, err := f.make("orders")
			require.NoError(t, err)
			timeout, err := timer.AfterFunc(time.Hour, func() {})
			require.NoError(t, err)
			_, ok := hwt.CallerOf(timeout)
			assert.Equal(t, recorded, ok, "%s %q", engine, address)
			timer.Stop()
		}
	}
}

func TestServeRejectsAnAddressThatItCannotOpen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for address, status := range map[string]int{"8080": 2, "127.0.0.1:99999": 2, taken.Addr().String(): 1} {
		r := call("orders", "--orders", "10", "--serve", address)
		assert.Equal(t, status, r.status, address)
		assert.Contains(t, r.errOut, `"`+address+`"`)
		assert.Contains(t, r.errOut, "--serve")
	}
}
