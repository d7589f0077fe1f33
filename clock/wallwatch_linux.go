package clock

import (
	"errors"
	"math"
	"os"
	"strconv"
	"sync"
	"syscall"
	"unsafe"
)

// watchSteps calls stepped on a goroutine each time the wall clock is set, or the machine
// has slept, until stop is called or ended is closed. watchSteps returns nil if the kernel
// has no timerfd.
func watchSteps(ended <-chan struct{}, stepped func()) (stop func()) {
	file, err := newStepFile()
	if err != nil {
		return nil
	}
	stopped := make(chan struct{})
	go func() {
		select {
		case <-ended:
		case <-stopped:
		}
		_ = file.Close() // Ends the read.
	}()
	go func() {
		for awaitStep(file) {
			stepped()
		}
	}()
	return sync.OnceFunc(func() { close(stopped) })
}

// awaitStep reports whether the wall clock was set. It returns false when file is closed.
func awaitStep(file *os.File) bool {
	var expirations [8]byte
	_, err := file.Read(expirations[:])
	return errors.Is(err, syscall.ECANCELED)
}

// The parameters of timerfd_create(2) and timerfd_settime(2).
const (
	clockRealtime     = 0
	timerAbsolute     = 1 << 0
	timerCancelOnStep = 1 << 1
)

// newStepFile returns a timerfd for a time that will not come. A read of it fails with
// ECANCELED each time the wall clock is set.
func newStepFile() (*os.File, error) {
	fd, _, errno := syscall.RawSyscall(syscall.SYS_TIMERFD_CREATE, clockRealtime, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		return nil, errno
	}
	never := int64(math.MaxInt64) // in the year 2262
	if strconv.IntSize == 32 {
		never = math.MaxInt32 * 1e9 // in the year 2038
	}
	var spec struct{ interval, value syscall.Timespec }
	spec.value = syscall.NsecToTimespec(never)
	_, _, errno = syscall.RawSyscall6(syscall.SYS_TIMERFD_SETTIME, fd, timerAbsolute|timerCancelOnStep,
		uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if errno != 0 {
		_ = syscall.Close(int(fd))
		return nil, errno
	}
	return os.NewFile(fd, "timerfd"), nil
}
