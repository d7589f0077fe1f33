package enginekit

import (
	"context"
	"runtime/pprof"
	"sync"

	"github.com/hashedwheel/hwt"
)

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

// NewLabels returns the labels for the tasks of the timer called name. If own is true,
// tasks run on the timer's own goroutine, which keeps the label of the timer after a
// task.
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
