package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
)

func TestInterruptHasItsOwnStatus(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := filepath.Join(t.TempDir(), "store.db")
	newStore(t, place.Place{File: file})
	for _, args := range []string{"list --store " + file, "lateness", "check --only sqlite"} {
		var out, log bytes.Buffer
		require.Equal(t, 130, run(ctx, strings.Fields(args), &out, &log), args)
		require.Contains(t, log.String(), "hwtdurable: interrupted: ")
	}
}

// The reader of a pipe closes it after the first line, as head -1 does.
func TestClosedPipeEndsACommand(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "store.db")
	newStore(t, place.Place{File: file})
	for _, args := range []string{"list --store " + file, "lateness --rate 10 --for 100ms"} {
		temporary := t.TempDir()
		cmd := exec.Command(os.Args[0], strings.Fields(args)...)
		cmd.Env = append(os.Environ(), "HWTDURABLE_MAIN=1", "TMPDIR="+temporary)
		var log bytes.Buffer
		cmd.Stderr = &log
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, out.Close())
		require.Error(t, cmd.Run())
		require.Equal(t, 141, cmd.ProcessState.ExitCode(), log.String())
		require.Empty(t, log.String())
		left, err := os.ReadDir(temporary)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func TestInterruptEndsEachCommand(t *testing.T) {
	for _, args := range []string{"figures --entries 10000000", "lateness --for 1m", "check --only sqlite"} {
		t.Run(args, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			var out, log bytes.Buffer
			begin := time.Now()
			require.Equal(t, 1, run(ctx, strings.Fields(args), &out, &log))
			require.Contains(t, log.String(), "deadline exceeded")
			require.NotContains(t, log.String()+out.String(), "FAILED")
			require.Less(t, time.Since(begin), 30*time.Second)
		})
	}
}

// The system signals a broken connection to a database, or of a proxy, as it does a closed pipe.
func TestBrokenConnectionEndsNoCommand(t *testing.T) {
	cmd := exec.Command(os.Args[0], strings.Fields("lateness --rate 10 --for 2s")...)
	cmd.Env = append(os.Environ(), "HWTDURABLE_MAIN=1", "TMPDIR="+t.TempDir())
	var log bytes.Buffer
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	time.Sleep(time.Second)
	require.NoError(t, cmd.Process.Signal(syscall.SIGPIPE))
	require.NoError(t, cmd.Wait(), "%s", &log)
}
