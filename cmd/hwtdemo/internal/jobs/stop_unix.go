//go:build unix

package jobs

import (
	"os/exec"
	"syscall"
)

// makeStoppable puts the command into a process group of its own, and lets the
// end of its context ask the whole group to terminate: a script's children
// should end with the script.
func makeStoppable(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// killRest kills what is left of the command's process group.
func killRest(cmd *exec.Cmd) {
	if cmd.Process != nil {
		// An error says that nobody is left.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
