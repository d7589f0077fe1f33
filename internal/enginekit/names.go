package enginekit

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"unsafe"

	"github.com/hashedwheel/hwt"
)

// TaskName returns the name of a task in the log and in String: its type, or the name
// and source line of a function, such as
// "example.com/shop.(*Shop).check.func1 (/src/shop/check.go:63)".
func TaskName(task hwt.TimerTask) string { return KeyOf(task).Name() }

// Name returns the [TaskName] of the tasks with this key.
func (k TaskKey) Name() string {
	switch {
	case k.of == nil:
		return "<nil>"
	case k.of.Kind() == reflect.Func:
		return funcName(k.pc)
	}
	return k.of.String()
}

func funcName(pc uintptr) string {
	f := runtime.FuncForPC(pc)
	if f == nil {
		return "func"
	}
	name, ofMethod := strings.CutSuffix(f.Name(), "-fm") // a method value, with code made by the compiler
	if ofMethod {
		return name
	}
	file, line := f.FileLine(pc)
	return fmt.Sprintf("%s (%s:%d)", name, file, line)
}

// The keys of pprof labels.
const (
	LabelTimer = "hwt"      // the timer's name
	LabelTask  = "hwt_task" // the task's TaskName
)

// Labels sets the pprof labels of goroutines that run tasks. It is safe for concurrent
// use.
type Labels struct {
	timer context.Context // has the label of the timer
	after context.Context // has the labels of a goroutine after a task
	tasks *sync.Map       // from TaskKey to the context with the labels of that task
}

// NewLabels returns the labels for the tasks of the timer called name. If own is true, tasks
// run on the timer's own goroutine. That goroutine keeps the label of the timer after a task.
func NewLabels(name string, own bool) *Labels {
	l := &Labels{timer: TimerLabels(name), after: context.Background(), tasks: new(sync.Map)}
	if own {
		l.after = l.timer
	}
	return l
}

// elsewhere returns the labels for tasks on other goroutines than the timer's. l may be
// nil.
func (l *Labels) elsewhere() *Labels {
	if l == nil || l.after != l.timer {
		return l
	}
	return &Labels{timer: l.timer, after: context.Background(), tasks: l.tasks}
}

// TimerLabels returns a context with the label of the timer called name.
func TimerLabels(name string) context.Context {
	return pprof.WithLabels(context.Background(), pprof.Labels(LabelTimer, name))
}

// set labels the calling goroutine for task.
func (l *Labels) set(task hwt.TimerTask) {
	key := KeyOf(task)
	ctx, ok := l.tasks.Load(key)
	if !ok {
		ctx, _ = l.tasks.LoadOrStore(key, pprof.WithLabels(l.timer, pprof.Labels(LabelTask, TaskName(task))))
	}
	pprof.SetGoroutineLabels(ctx.(context.Context))
}

// reset removes the labels of a task.
func (l *Labels) reset() { pprof.SetGoroutineLabels(l.after) }

const module = "github.com/hashedwheel/hwt"

// Callers is the option RecordCallers.
type Callers bool

// Caller returns the program counter of the first caller outside this module, to pass to
// CallerFrame. Caller returns 0 on a goroutine that only this module uses, and if callers
// are not recorded.
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

// FrameOf returns the caller of a timeout. It returns false if c is off or the timeout has no
// recorded caller.
func FrameOf[T any](c Callers, timeout *T) (runtime.Frame, bool) {
	if !c {
		return runtime.Frame{}, false
	}
	return CallerFrame((*Recorded[T])(unsafe.Pointer(timeout)).Caller)
}

// UseNew is the panic of the methods of a zero timer.
const UseNew = "hwt: zero timer: use New"

// The attributes of the engines' log records. Package hwt documents them.
const (
	AttrTimer     = "timer"     // the timer's name
	AttrTask      = "task"      // a task's TaskName
	AttrError     = "error"     // a task's error, or a *hwt.PanicError
	AttrStack     = "stack"     // the stack of a panic
	AttrHeld      = "held"      // the time for which a slow task has held the worker
	AttrThreshold = "threshold" // the time from which a task is slow
	AttrStarved   = "starved"   // how late the watchdog ran while a slow task held the worker
	AttrWaited    = "waited"    // the time that Stop waited
	AttrRunning   = "running"   // the number of tasks that still run
	AttrLive      = "live"      // the number of timers
)
