package main

import (
	"context"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/sqlite"
)

// output is a log that may be read while the service writes it.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// The service and hwtdurable work on one file, as separate processes do.
func TestTenantIsPausedAndWebhooksAreReplayed(t *testing.T) {
	if testing.Short() {
		t.Skip("builds hwtdurable")
	}
	dir := t.TempDir()
	file, binary := filepath.Join(dir, "store.db"), filepath.Join(dir, "hwtdurable")
	out, err := exec.Command("go", "build", "-C", "../../durable/cmd/hwtdurable", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	hwtdurable := func(args ...string) string {
		out, err := exec.Command(binary, append(args, "--store", file)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	store, err := sqlite.Open(t.Context(), file, nil)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	hwtdurable("pause", "--group", "acme", "--reason", "asked by phone", "--by", "ann")
	assert.Contains(t, hwtdurable("pauses"), `group "acme"  by "ann": "asked by phone"`)

	var gone atomic.Bool
	gone.Store(true)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if gone.Load() {
			w.WriteHeader(http.StatusGone)
		}
	}))
	defer receiver.Close()
	var printed output
	log.SetOutput(&printed)
	defer log.SetOutput(os.Stderr)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, file, receiver.URL, 1) }()
	eventually := func(text string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(printed.String(), text) }, time.Minute, 10*time.Millisecond, &printed)
	}
	eventually("mail/globex/")
	require.Eventually(t, func() bool { return hwtdurable("dead") != "" }, time.Minute, 10*time.Millisecond)
	assert.Contains(t, hwtdurable("dead"), `"webhook/globex/`)
	gone.Store(false)
	assert.Equal(t, "requeue: 1\n", hwtdurable("requeue", "--prefix", "webhook/", "--per-second", "5"))
	eventually(": posted at attempt 1")
	assert.NotContains(t, printed.String(), "mail/acme")
	hwtdurable("resume", "--group", "acme")
	eventually("mail/acme/")
	eventually("report/acme: ")
	stop()
	require.NoError(t, <-done)
	assert.Equal(t, 1, strings.Count(printed.String(), "mail/acme/"))
}
