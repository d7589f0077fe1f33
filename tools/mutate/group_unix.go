//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// endTogether makes the context of cmd interrupt its tests, too. A killed go command would
// leave them running, and its own folder.
func endTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
}
