// Package proc runs this program again in another role, in processes that are to be
// killed. Such a process reads its standard input to the end and then exits: no process
// outlives the one that started it.
package proc

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"time"
)

// environ is the variable that carries the role.
const environ = "HWTDURABLE_ROLE"

// Role is a function that a process may run instead of main.
type Role func(config json.RawMessage) error

// Of returns the role that runs f with its configuration.
func Of[C any](f func(C) error) Role {
	return func(text json.RawMessage) error {
		var config C
		if err := json.Unmarshal(text, &config); err != nil {
			return err
		}
		return f(config)
	}
}

// task is a role as stored in the environment.
type task[C any] struct {
	Role   string
	Config C
}

// Run runs the role that the environment names and exits. It returns if the environment names no role.
func Run(roles map[string]Role) {
	text := os.Getenv(environ)
	if text == "" {
		return
	}
	signal.Ignore(os.Interrupt) // Ctrl-C reaches all processes of a terminal; the parent ends this one
	var t task[json.RawMessage]
	err := json.Unmarshal([]byte(text), &t)
	if err == nil {
		err = roles[t.Role](t.Config)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, t.Role+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Ready tells the parent that this process is ready.
func Ready() { fmt.Println("ready") }

// ParentEnded returns a channel that is closed when the parent stops this process or
// ends.
func ParentEnded() <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, os.Stdin)
	}()
	return ended
}

// Sleep waits, and reports whether ctx is still alive.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// Process is a running role.
type Process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed when the process has ended
	err   error         // of the end. Published by ended.

	mu     sync.Mutex
	stderr []byte // the end of it. Guarded by mu.
}

// Start runs a role in a new process and waits until it is ready, or kills it when ctx
// ends before that. prefix is a command that runs the program, such as strace with its
// arguments.
func Start(ctx context.Context, role string, config any, prefix ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(task[any]{role, config})
	if err != nil {
		return nil, err
	}
	args := append(prefix, self)
	p := &Process{cmd: exec.Command(args[0], args[1:]...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), environ+"="+string(text))
	p.cmd.Stderr = p
	p.stdin, err = p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ready := context.AfterFunc(ctx, func() { p.cmd.Process.Kill() }) // fails only if it has ended
	line, err := bufio.NewReader(stdout).ReadString('\n')
	ready()
	go func() {
		io.Copy(io.Discard, stdout)
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	if err != nil || line != "ready\n" {
		p.Kill()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%s did not become ready: %s", role, p.Stderr())
	}
	return p, nil
}

// Write keeps the end of the process's standard error.
func (p *Process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stderr = append(p.stderr, b...)
	p.stderr = p.stderr[max(0, len(p.stderr)-1<<14):]
	return len(b), nil
}

// Stderr returns the end of the process's standard error.
func (p *Process) Stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.stderr)
}

// PID returns the process's ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Kill sends SIGKILL, waits until the process has ended, and reports whether it was
// alive.
func (p *Process) Kill() bool {
	err := p.cmd.Process.Kill()
	<-p.ended
	return err == nil
}

// Stop asks the process to end. It kills the process after the timeout.
func (p *Process) Stop(timeout time.Duration) error {
	p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(timeout):
		p.Kill()
		return fmt.Errorf("the process did not end within %v: %s", timeout, p.Stderr())
	}
	if p.err != nil {
		return fmt.Errorf("%w: %s", p.err, p.Stderr())
	}
	return nil
}
