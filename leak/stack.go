package leak

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// maxDepth is the number of frames that a captured stack has at most.
const maxDepth = 64

// Stack is a call stack, innermost call first, of at most 64 frames. Frames of
// the runtime itself are left out.
type Stack []runtime.Frame

// String returns two lines a frame: the function, and its file and line.
func (s Stack) String() string {
	var b strings.Builder
	for _, frame := range s {
		b.WriteString("\t" + frame.Function + "\n\t\t" + frame.File + ":" + strconv.Itoa(frame.Line) + "\n")
	}
	return b.String()
}

// capture returns the calling goroutine's stack without capture itself and the
// skip frames above it. What it costs is the walk; names come later, if at all.
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
