package enginekit

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/hashedwheel/hwt"
)

// TaskKey identifies the tasks of one [TaskName].
type TaskKey struct {
	of reflect.Type
	pc uintptr // of a function
}

// KeyOf returns the key of a task.
func KeyOf(task hwt.TimerTask) TaskKey {
	_, task = onExecutor(task)
	key := TaskKey{of: reflect.TypeOf(task)}
	if v := reflect.ValueOf(task); v.Kind() == reflect.Func {
		key.pc = v.Pointer()
	}
	return key
}

// TaskName returns the name of a task in the log and in String: its type, or the name
// and source line of a function, such as
// "example.com/shop.(*Shop).check.func1 (/src/shop/check.go:63)".
func TaskName(task hwt.TimerTask) string {
	_, task = onExecutor(task)
	if v := reflect.ValueOf(task); v.Kind() == reflect.Func {
		return funcName(v.Pointer())
	}
	return fmt.Sprintf("%T", task)
}

func funcName(pc uintptr) string {
	f := runtime.FuncForPC(pc)
	if f == nil {
		return "func"
	}
	name, ofMethod := strings.CutSuffix(f.Name(), "-fm") // a method value, whose code the compiler made
	if ofMethod {
		return name
	}
	file, line := f.FileLine(pc)
	return fmt.Sprintf("%s (%s:%d)", name, file, line)
}
