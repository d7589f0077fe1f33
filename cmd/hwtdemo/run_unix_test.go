//go:build unix

package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRunStopsWhileItOpensAFIFO(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done := make(chan int)
	go func() {
		var out, errOut transcript
		done <- execute(ctx, []string{"run", fifo}, strings.NewReader(""), &out, &errOut)
	}()
	require.Equal(t, statusInterrupted, <-done)
	writer, err := os.OpenFile(fifo, os.O_WRONLY, 0) // ends the goroutine in open
	require.NoError(t, err)
	writer.Close()
}

// TestCommandEndToEnd calls the functions below.

func runStops(t *testing.T, binary string) {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		p := start(t, binary, ptr("at,id,delay,message\n0,now,0,\n0,hour,1h,much later\n2h,rest,5s,not even begun\nbad\n"), "run")
		assert.Contains(t, p.line(t), "now")
		p.signal(t, s)
		status, out := p.end()
		assert.Equal(t, 130, status)
		assert.Empty(t, out)
		errOut := p.errOut.String()
		assert.Contains(t, errOut, "stdin:5: wrong number of columns")
		assert.Regexp(t, `(?m)^ *(1h|59m\d+s)  hour +much later$`, errOut)
		assert.Regexp(t, `(?m)^ *(2h(0m\ds)?|1h59m\d+s)  rest +\(not scheduled yet\) not even begun$`, errOut)
		assert.Contains(t, errOut, "scheduled 2, fired 1, cancelled 0, reset 0, bad rows 1, not fired 2\n")
	}
}

// runStopsWaiting interrupts a command that waits for more input. The command has
// read the long line once the line is written, because the pipe cannot hold it.
func runStopsWaiting(t *testing.T, binary string) {
	p := &process{Cmd: exec.Command(binary, "run", "-")}
	p.Stderr, p.WaitDelay = &p.errOut, 20*time.Second
	input, err := p.StdinPipe()
	require.NoError(t, err)
	p.startWithSignals(t)
	_, err = io.WriteString(input, "id,delay\n# "+strings.Repeat("x", 1<<18)+"\n")
	require.NoError(t, err)
	p.signal(t, syscall.SIGINT)
	p.Wait()
	assert.Equal(t, 130, p.ProcessState.ExitCode(), p.errOut.String())
}

// A process inherits that SIGHUP is ignored.
func nohupIsRespected(t *testing.T, binary string) {
	p := start(t, "sh", ptr("id,delay\na,0\nb,1h\n"), "-c", `trap "" HUP; exec "$0" run`, binary)
	assert.Contains(t, p.line(t), "a")
	p.signal(t, syscall.SIGHUP)
	time.Sleep(50 * time.Millisecond) // time in which it would end
	p.signal(t, syscall.SIGINT)
	status, _ := p.end()
	assert.Equal(t, 130, status)
	assert.Contains(t, p.errOut.String(), "not fired 1")
}

func invalidFlagsAreRejected(t *testing.T, binary string) {
	noise, err := os.ReadFile(binary)
	require.NoError(t, err)
	p := start(t, binary, ptr(string(noise[:min(len(noise), 1<<20)])), "run")
	status, out := p.end()
	assert.Equal(t, 1, status)
	assert.Empty(t, out)
	assert.NotContains(t, p.errOut.String(), "panic")
	p = start(t, binary, ptr(""), "orders", "--paid", "most")
	status, _ = p.end()
	assert.Equal(t, 2, status)
}
