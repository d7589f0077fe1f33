//go:build unix

package pgtest

import (
	"errors"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// stopSignal makes a postmaster roll back, and exit without waiting for clients.
const stopSignal = syscall.SIGINT

// asOtherUser returns the attributes of a process that must not be root's.
func asOtherUser() *syscall.SysProcAttr {
	// A separate group keeps Ctrl-C away from the processes.
	attr := &syscall.SysProcAttr{Setpgid: true}
	if uid, gid, ok := otherUser(); ok {
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return attr
}

// giveAway makes the other user the owner of a folder.
func giveAway(dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	uid, gid, ok := otherUser()
	if !ok {
		return errors.New("pgtest: PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody")
	}
	return os.Chown(dir, uid, gid)
}

// otherUser returns the user whose processes PostgreSQL's programs are, if this
// process is root's.
func otherUser() (uid, gid int, ok bool) {
	if os.Getuid() != 0 {
		return 0, 0, false
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil {
			return uid, gid, true
		}
	}
	return 0, 0, false
}
