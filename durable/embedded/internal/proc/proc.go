// Package proc runs processes that are to be killed: this program again, in
// another role. A process reads its standard input to the end, and exits then: so
// none is left over when the one that started it dies.
package proc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Process is a process that was started.
type Process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ready chan string   // The rest of the line that says so.
	ended chan struct{} // Closed when the process has ended, and err is set.
	err   error

	mu     sync.Mutex
	stderr bytes.Buffer // The last of it. Guarded by mu.
}

// readyWord begins the line on standard output that says that a process is ready.
const readyWord = "ready "

// Ready prints that this process is ready. text is for the one that started it.
func Ready(text string) { fmt.Println(readyWord + text) }

// UntilParentEnds returns a channel that is closed when the process that started
// this one wants it to end, or has ended itself.
func UntilParentEnds() <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, os.Stdin)
	}()
	return ended
}

// Start runs this program with the arguments, and with environ added to the
// environment.
func Start(environ []string, args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(self, args...), ready: make(chan string, 1), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), environ...)
	p.cmd.Stderr = p
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.watch(stdout)
	return p, nil
}

// watch reads the process's output until it ends.
func (p *Process) watch(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), readyWord); ok {
			select {
			case p.ready <- text:
			default:
			}
		}
	}
	p.err = p.cmd.Wait()
	close(p.ended)
}

// Write keeps the end of what the process wrote to standard error.
func (p *Process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stderr.Len() > 1<<16 {
		p.stderr.Reset()
	}
	return p.stderr.Write(b)
}

// Stderr returns the end of what the process wrote to standard error.
func (p *Process) Stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// WaitReady waits until the process is ready and returns what it said.
func (p *Process) WaitReady(timeout time.Duration) (string, error) {
	select {
	case text := <-p.ready:
		return text, nil
	case <-p.ended:
		return "", fmt.Errorf("the process ended: %w: %s", p.err, p.Stderr())
	case <-time.After(timeout):
		return "", errors.New("the process is not ready: " + p.Stderr())
	}
}

// PID returns the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Kill ends the process at once, and waits until it is gone.
func (p *Process) Kill() {
	p.cmd.Process.Kill() // fails only if it has ended
	<-p.ended
}

// Stop asks the process to end, and waits until it has. It returns an error if the
// process failed, and kills it if it does not end in time.
func (p *Process) Stop(timeout time.Duration) error {
	p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(timeout):
		p.Kill()
		return errors.New("the process did not end: " + p.Stderr())
	}
	if p.err != nil {
		return fmt.Errorf("%w: %s", p.err, p.Stderr())
	}
	return nil
}
