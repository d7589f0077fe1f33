package leak

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// maxDepth is the largest number of frames in a captured stack.
const maxDepth = 64

// Stack is a call stack of at most 64 frames, innermost call first, without the
// frames of the runtime.
type Stack []runtime.Frame

// String returns two lines per frame: the function, then the file and line.
func (s Stack) String() string {
	var b strings.Builder
	for _, frame := range s {
		b.WriteString("\t" + frame.Function + "\n\t\t" + frame.File + ":" + strconv.Itoa(frame.Line) + "\n")
	}
	return b.String()
}

// capture returns the calling goroutine's stack without capture and its skip callers.
// capture only walks the stack; resolve names the frames.
func capture(skip int) []uintptr {
	var pcs [maxDepth]uintptr
	n := runtime.Callers(skip+2, pcs[:])
	return slices.Clone(pcs[:n])
}

// resolve names the frames of a captured stack.
func resolve(pcs []uintptr) Stack {
	if len(pcs) == 0 {
		return nil
	}
	var stack Stack
	frames := runtime.CallersFrames(pcs)
	for {
		frame, more := frames.Next()
		if frame.Function != "" && !strings.HasPrefix(frame.Function, "runtime.") {
			stack = append(stack, frame)
		}
		if !more {
			return stack
		}
	}
}
