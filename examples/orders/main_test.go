package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// start runs the program in a bubble with four orders that are checked after half an hour,
// and returns its output.
func start(t *testing.T, ctx context.Context, file, commands string) string {
	var out bytes.Buffer
	in, end := io.Pipe()
	go func() {
		io.WriteString(end, commands)
		<-ctx.Done()
		end.Close()
	}()
	require.NoError(t, run(ctx, file, 4, 30*time.Minute, in, &out))
	return strings.ReplaceAll(out.String(), file, "FILE")
}

func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out := start(t, ctx, filepath.Join(t.TempDir(), "orders"),
			"pay\npay #2\npay 0\npay 0\nextend 1 1h\nextend 1\nextend 3 10m\nlist 2\nfly\nquit\npay 2\n")
		assert.Equal(t, `4 orders are pending
the commands are: pay ORDER, extend ORDER DURATION, list NUMBER, quit
the commands are: pay ORDER, extend ORDER DURATION, list NUMBER, quit
order 0 is not pending
time: invalid duration ""
order 3 is checked in 10m0s
order 2 is checked in 30m0s
the commands are: pay ORDER, extend ORDER DURATION, list NUMBER, quit
saving 3 orders to FILE
`, out)
	})
}

func TestOrdersSurviveARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // Ctrl-C
		defer cancel()
		assert.Equal(t, `4 orders are pending
order 0 was not paid: Ada owes 100 cents
saving 3 orders to FILE
`, start(t, ctx, file, "extend 0 10m\nextend 1 25m\n"))

		time.Sleep(7 * time.Minute)
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		assert.Equal(t, `3 orders are pending
order 1 was not paid: Ada owes 101 cents
saving 2 orders to FILE
`, start(t, ctx, file, ""))

		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		assert.Regexp(t, `^2 orders are pending
order [23] was not paid: Ada owes 10[23] cents
order [23] was not paid: Ada owes 10[23] cents
saving 0 orders to FILE
$`, start(t, ctx, file, ""))
	})
}

func TestSavedFileIsLoadedOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders")
	require.NoError(t, run(t.Context(), file, 4, time.Hour, strings.NewReader(""), io.Discard))
	ctx, cancel := context.WithCancel(t.Context())
	in, killed := io.Pipe()
	defer killed.Close()
	var out bytes.Buffer
	loaded := make(chan error, 1)
	go func() { loaded <- run(ctx, file, 4, time.Hour, in, &out) }()
	_, err := io.WriteString(killed, "list 1\n") // It has loaded the file.
	require.NoError(t, err)
	assert.NoFileExists(t, file, "a program killed now leaves no file to load")
	assert.FileExists(t, file+".loaded")
	cancel()
	require.NoError(t, <-loaded)
}

func TestDamagedFileIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders")
	require.NoError(t, os.WriteFile(file, []byte("damaged"), 0o600))
	for range 2 {
		require.ErrorContains(t, run(t.Context(), file, 4, time.Hour, strings.NewReader(""), io.Discard), file)
	}
}

func TestMillionOrdersAreSavedAndLoaded(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 10_000
	}
	file := filepath.Join(t.TempDir(), "orders")
	for range 2 {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), file, n, time.Hour, strings.NewReader("list 1\n"), &out))
		assert.Contains(t, out.String(), "is checked in ")
		assert.Contains(t, out.String(), fmt.Sprintf("saving %d orders", n))
	}
}
