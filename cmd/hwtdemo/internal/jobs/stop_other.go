//go:build !unix

package jobs

import "os/exec"

// makeStoppable leaves the command as it is: Stop kills it.
func makeStoppable(*exec.Cmd) {}

// kill kills the command. There are no process groups.
func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // fails if it has ended
}
