package sqlite_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// children are the programs that tests start as processes, by name.
var children = map[string]func(path string){"callers": callers, "worker": worker}

func TestMain(m *testing.M) {
	if child := children[os.Getenv("HWT_CHILD")]; child != nil {
		child(os.Getenv("HWT_STORE"))
		return
	}
	goleak.VerifyTestMain(m)
}
