package enginekit

import (
	"context"
	"runtime/pprof"
	"sync"

	"github.com/hashedwheel/hwt"
)

// The keys of the pprof labels.
const (
	LabelTimer = "hwt"      // the timer's name
	LabelTask  = "hwt_task" // the task, as the log calls it
)

// Labels labels the goroutines that run tasks, for pprof. Safe for concurrent use.
type Labels struct {
	timer context.Context // with the label of the timer
	after context.Context // whose labels a goroutine has after the task
	tasks sync.Map        // from TaskKey to the context with the labels of that task
}

// NewLabels returns the labels for the tasks of the timer called name. The timer's
// own goroutine keeps the label of the timer; others keep none.
func NewLabels(name string, own bool) *Labels {
	l := &Labels{timer: TimerLabels(name), after: context.Background()}
	if own {
		l.after = l.timer
	}
	return l
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

// reset ends the labels of a task.
func (l *Labels) reset() { pprof.SetGoroutineLabels(l.after) }
