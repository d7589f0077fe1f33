package enginekit

import (
	"runtime"
	"strings"
	"unsafe"
)

const module = "github.com/hashedwheel/hwt"

// Callers is the option RecordCallers.
type Callers bool

// Caller returns the program counter of the first caller outside this module, to
// pass to CallerFrame. It returns 0 on a goroutine that only this module uses, and if
// callers are not recorded.
func (c Callers) Caller() uintptr {
	if !c {
		return 0
	}
	var pcs [16]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		for _, pc := range pcs[:n] {
			if f, ok := CallerFrame(pc); ok && isOutside(f) {
				return pc
			}
		}
		if n < len(pcs) {
			return 0
		}
	}
}

// CallerFrame returns the frame of a program counter from Caller. It returns false for
// 0.
func CallerFrame(pc uintptr) (runtime.Frame, bool) {
	if pc == 0 {
		return runtime.Frame{}, false
	}
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return f, f.PC != 0
}

// isOutside reports whether the frame belongs to a program. Tests and commands of this
// module are programs, too. The runtime, at the bottom of each stack, is not.
func isOutside(f runtime.Frame) bool {
	path, inside := strings.CutPrefix(f.Function, module)
	if inside && (strings.HasPrefix(path, ".") || strings.HasPrefix(path, "/")) {
		return strings.HasSuffix(f.File, "_test.go") || strings.HasPrefix(path, "/cmd/")
	}
	return !strings.HasPrefix(f.Function, "runtime.")
}

// Recorded is a timeout of type T with its caller. If a timer records callers, all of
// its timeouts lie in a Recorded.
type Recorded[T any] struct {
	Timeout T       // First, so that a *T is the address of its Recorded.
	Caller  uintptr // Immutable.
}

// FrameOf returns the caller of a timeout, and false if c is off or the timeout has
// none.
func FrameOf[T any](c Callers, timeout *T) (runtime.Frame, bool) {
	if !c {
		return runtime.Frame{}, false
	}
	return CallerFrame((*Recorded[T])(unsafe.Pointer(timeout)).Caller)
}
