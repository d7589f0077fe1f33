//go:build unix

package proc

import "syscall"

// Pause stops the process where it is, as a machine that stalls does.
func (p *Process) Pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (p *Process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
