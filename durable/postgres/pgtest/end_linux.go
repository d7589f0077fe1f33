package pgtest

import "syscall"

// endWithParent makes a postmaster and its children exit at once when their parent dies.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
