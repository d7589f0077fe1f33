//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// build builds the command once and returns its path.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "hwtdemo")
	text, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", text)
	return binary
}

// process is a running command.
type process struct {
	*exec.Cmd
	out    *bufio.Reader
	errOut transcript
	wrote  chan struct{} // closed once there is output, or its end; nil unless writes was called
}

// start starts the command.
func start(t *testing.T, binary string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(binary, args...)}
	p.Stderr = &p.errOut
	p.WaitDelay = 20 * time.Second
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewReader(out)
	p.startWithSignals(t)
	return p
}

// stuck is the time after which a process is killed, and its test fails.
const stuck = 2 * time.Minute

// startWithSignals starts the process with the default action for every signal, even
// if this process ignores some, as under nohup: a child does not inherit the actions
// of signals that its parent handles.
func (p *process) startWithSignals(t *testing.T) {
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(handled)
	require.NoError(t, p.Start())
	watchdog := time.AfterFunc(stuck, func() { p.Process.Kill() })
	t.Cleanup(func() {
		watchdog.Stop()
		p.Process.Kill()
	})
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

// freeze stops the process, as Ctrl-Z does, and continues it after pause.
func (p *process) freeze(t *testing.T, pause time.Duration) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	time.Sleep(pause)
	p.signal(t, syscall.SIGCONT)
}

// A process under nohup ignores SIGHUP, and so would the processes that it starts.
func TestProcessesOfATestUnderNohupTakeSIGHUP(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	p := start(t, "sleep", "60")
	p.signal(t, syscall.SIGHUP)
	p.end()
	status := p.ProcessState.Sys().(syscall.WaitStatus)
	assert.True(t, status.Signaled() && status.Signal() == syscall.SIGHUP, p.ProcessState)
}
