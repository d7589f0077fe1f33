package hwt

// OnExecutor returns a task that runs task on executor, and not on the timer's executor or
// goroutine. Use it for the few tasks that block, if the other tasks of the timer return
// quickly:
//
//	timer.NewTimeout(hwt.OnExecutor(pool, hwt.ContextTaskFunc(report)), time.Minute)
//
// The engines treat executor like the timer's Options.Executor: Run and Cancelled are
// called there, Rejected receives rejections, a [ContextTaskFunc] receives the timer's
// context, and errors and panics go to the timer's error handler. Stats counts waiting
// tasks as ExecutorWaiting and rejected ones as ExecutorRejected. Shutdown waits for
// accepted tasks; Stop does not.
//
// A timer that wraps tasks must wrap the task given to OnExecutor. Otherwise the task
// runs where the timer runs its tasks.
//
// OnExecutor returns task if executor is nil, and nil if task is nil.
func OnExecutor(executor Executor, task TimerTask) TimerTask {
	if executor == nil || task == nil {
		return task
	}
	if t, ok := task.(*onExecutor); ok {
		task = t.TimerTask
	}
	return &onExecutor{task, executor}
}

type onExecutor struct {
	TimerTask
	executor Executor
}

// OnExecutor returns the parts, for the engines.
func (t *onExecutor) OnExecutor() (Executor, TimerTask) { return t.executor, t.TimerTask }
