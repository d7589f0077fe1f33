//go:build unix

package echo

import "syscall"

// openFiles raises the soft limit of open files to the hard limit and returns it.
// known is false if the system does not return it.
func openFiles() (limit uint64, known bool) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return 0, false
	}
	if files.Cur < files.Max {
		raised := syscall.Rlimit{Cur: files.Max, Max: files.Max}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err == nil {
			files = raised
		}
	}
	return uint64(files.Cur), true
}
