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
		var out, errOut text
		done <- execute(ctx, []string{"run", fifo}, strings.NewReader(""), &out, &errOut)
	}()
	require.Equal(t, statusInterrupted, <-done)
	writer, err := os.OpenFile(fifo, os.O_WRONLY, 0) // lets the goroutine that opens end
	require.NoError(t, err)
	writer.Close()
}

// The functions below belong to TestCommandEndToEnd.

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
		assert.Regexp(t, `(?m)^ *(1h0m0s|59m\d+s)  hour +much later$`, errOut)
		assert.Regexp(t, `(?m)^ *(2h0m\ds|1h59m\d+s)  rest +\(not scheduled yet\) not even begun$`, errOut)
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

func runStopsCommands(t *testing.T, binary string) {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		runStopsCommandsAt(t, binary, s)
	}
}

func runStopsCommandsAt(t *testing.T, binary string, s os.Signal) {
	marker := filepath.Join(t.TempDir(), "marker")
	script := `sh -c 'echo $HWT_ID up; sleep 3600; echo >` + marker + `'`
	p := start(t, binary, ptr("id,delay\na,0\nb,1ms\nc,2ms\n"), "run", "--jobs", "2", "--exec", script)
	up := 0
	for up < 2 {
		if strings.HasSuffix(p.line(t), " up\n") {
			up++
		}
	}
	p.signal(t, s)
	status, _ := p.end() // which would take an hour if they slept on
	assert.Equal(t, 130, status)
	assert.Regexp(t, `(not fired 1, commands stopped 2|commands stopped 2, commands not run 1)\n$`, p.errOut.String(),
		"the third fired, or was about to")
	assert.NoFileExists(t, marker)
}

// stubborn is a command that writes its process group, and "asked" when it is
// asked to end, which it does not.
const stubborn = `sh -c 'trap "echo asked" TERM; echo $$; while :; do sleep 1; done'`

// A second interrupt ends hwtdemo at once, and the commands that it started.
func runKillsCommands(t *testing.T, binary string) {
	p := start(t, binary, ptr("id,delay\na,0\n"), "run", "--exec", stubborn)
	group := p.group(t)
	p.signal(t, syscall.SIGINT)
	for p.line(t) != "asked\n" {
	}
	p.signal(t, syscall.SIGINT)
	ended := make(chan int)
	go func() {
		status, _ := p.end() // which waits for all that hold the output
		ended <- status
	}()
	select {
	case status := <-ended:
		assert.Equal(t, 130, status)
	case <-time.After(20 * time.Second):
		t.Error("a command is left")
		syscall.Kill(-group, syscall.SIGKILL)
		<-ended
	}
}

// A process that is started with SIGHUP ignored ignores it.
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

func runEndsWithoutAReader(t *testing.T, binary string) {
	p := &process{Cmd: exec.Command(binary, "run")}
	p.Stdin, p.Stderr = strings.NewReader("id,delay\na,1ms\nb,1h\n"), &p.errOut
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	reader.Close()
	p.Stdout = writer
	assert.Error(t, p.Run())
	writer.Close()
	assert.Equal(t, 1, p.ProcessState.ExitCode())
	assert.Contains(t, p.errOut.String(), "hwtdemo: writing the output: ")
	assert.Contains(t, p.errOut.String(), "broken pipe")
}

func nonsenseIsRefused(t *testing.T, binary string) {
	noise, err := os.ReadFile(binary)
	require.NoError(t, err)
	for _, format := range []string{"csv", "jsonl"} {
		p := start(t, binary, ptr(string(noise[:min(len(noise), 1<<20)])), "run", "--format", format)
		status, out := p.end()
		assert.Equal(t, 1, status, format)
		assert.Empty(t, out)
		assert.NotContains(t, p.errOut.String(), "panic")
	}
	p := start(t, binary, ptr(""), "orders", "--paid", "most")
	status, _ := p.end()
	assert.Equal(t, 2, status)
}

func shellOnlyIfNamed(t *testing.T, binary string) {
	marker := filepath.Join(t.TempDir(), "marker")
	input := "id,delay,message\na,0,$(touch " + marker + ")\n\"; touch " + marker + "\",0,`touch " + marker + "`\n"
	p := start(t, binary, &input, "run", "--exec", "echo $HWT_ID '; touch "+marker+"'")
	status, out := p.end()
	assert.Equal(t, 0, status, p.errOut.String())
	assert.Equal(t, 2, strings.Count(out, "$HWT_ID ; touch "+marker+"\n"), out)
	assert.NoFileExists(t, marker)

	p = start(t, binary, ptr("id,delay,message\na,0,hello\n"), "run", "--exec", `sh -c "echo \"$HWT_MESSAGE from $HWT_ID\""`)
	status, out = p.end()
	assert.Equal(t, 0, status, p.errOut.String())
	assert.Contains(t, out, "hello from a\n")
}
