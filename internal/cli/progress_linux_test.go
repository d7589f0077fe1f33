package cli_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/cli"
)

// terminal returns both ends of a terminal: a program writes to inside, and the user sees
// outside.
func terminal(t *testing.T) (inside, outside *os.File) {
	outside, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { outside.Close() })
	control := func(request uintptr, value *int32) {
		_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, outside.Fd(), request, uintptr(unsafe.Pointer(value)))
		require.Zero(t, failed)
	}
	var unlocked, number int32
	control(syscall.TIOCSPTLCK, &unlocked)
	control(syscall.TIOCGPTN, &number)
	inside, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { inside.Close() })
	return inside, outside
}

// This needs the real clock, because a terminal is no part of a bubble.
func TestOnlyDumbTerminalsGetPlainLines(t *testing.T) {
	for kind, want := range map[string]string{"xterm": "\r\x1b[K\x1b[?7l  0s  half way\x1b[?7h", "dumb": "  0s  half way\r\n"} {
		t.Run(kind, func(t *testing.T) {
			t.Setenv("TERM", kind)
			inside, outside := terminal(t)
			stop := cli.Follow(inside, time.Millisecond, func() string { return "half way" })
			shown := make([]byte, len(want))
			n, err := outside.Read(shown)
			stop()
			require.NoError(t, err)
			assert.Equal(t, want[:n], string(shown[:n]))
		})
	}
}
