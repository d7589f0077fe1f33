//go:build unix

package jobs

import (
	"os/exec"
	"syscall"
)

// makeStoppable puts the command into a process group of its own, which is asked
// to end as a whole: a script's children end with the script.
func makeStoppable(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// kill kills what is left of the command's process group.
func kill(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // fails if nothing is left
}
