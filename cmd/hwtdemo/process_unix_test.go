//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is a running command.
type process struct {
	*exec.Cmd
	out    *bufio.Reader
	errOut transcript
	wrote  chan struct{} // closed once there is output, or its end; nil unless writes was called
}

// stuck is the time after which a process is killed, and its test fails.
const stuck = 2 * time.Minute

// start runs the command in a process: the test's own program, in which TestMain calls main.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	p := &process{Cmd: exec.Command(binary, args...)}
	p.Env = append(os.Environ(), asCommand+"=1")
	p.Stderr = &p.errOut
	p.WaitDelay = 20 * time.Second
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewReader(out)
	require.NoError(t, p.Start())
	watchdog := time.AfterFunc(stuck, func() { p.Process.Kill() })
	t.Cleanup(func() {
		watchdog.Stop()
		p.Process.Kill()
	})
	return p
}

// writes waits until the process writes text to its standard error. It returns false if
// the process writes to its standard output first, or ends.
func (p *process) writes(text string) bool {
	p.wrote = make(chan struct{})
	go func() {
		p.out.Peek(1)
		close(p.wrote)
	}()
	for !strings.Contains(p.errOut.String(), text) {
		select {
		case <-p.wrote:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
	return true
}

// signal sends a signal.
func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	require.NoError(t, p.Process.Signal(s))
}

// end reads the rest of the output and returns the exit status.
func (p *process) end() (status int, out string) {
	if p.wrote != nil {
		<-p.wrote
	}
	var rest strings.Builder
	p.out.WriteTo(&rest)
	p.Wait()
	return p.ProcessState.ExitCode(), rest.String()
}
