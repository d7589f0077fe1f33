//go:build unix

package check

import "syscall"

// pause stops a process until resume.
func pause(pid int) error  { return syscall.Kill(pid, syscall.SIGSTOP) }
func resume(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }
func kill(pid int) error   { return syscall.Kill(pid, syscall.SIGKILL) }
