//go:build !unix

package pgtest

import (
	"os"
	"syscall"
)

var stopSignal = os.Kill

func asOtherUser() *syscall.SysProcAttr { return nil }

func giveAway(string) error { return nil }
