package pgtest

import "syscall"

// endWithParent makes a postmaster and its children exit when the process that
// started them dies.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
