//go:build !unix

package jobs

import "os/exec"

// makeStoppable leaves the command as it is: the end of its context kills it.
func makeStoppable(*exec.Cmd) {}

// killRest does nothing where there are no process groups.
func killRest(*exec.Cmd) {}
