package cron

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// JobWrapper adds behavior to a job.
type JobWrapper func(Job) Job

// Chain is a sequence of wrappers.
type Chain struct{ wrappers []JobWrapper }

// NewChain returns a Chain of the given wrappers.
func NewChain(c ...JobWrapper) Chain { return Chain{c} }

// Then wraps a job: NewChain(a, b).Then(job) is a(b(job)).
func (c Chain) Then(j Job) Job {
	for _, wrap := range slices.Backward(c.wrappers) {
		j = wrap(j)
	}
	return j
}

// Recover logs panics of a job, with their stack, instead of ending the program.
func Recover(logger Logger) JobWrapper {
	return func(j Job) Job {
		return FuncJob(func() {
			defer func() {
				v := recover()
				if v == nil {
					return
				}
				err, ok := v.(error)
				if !ok {
					err = fmt.Errorf("%v", v)
				}
				logger.Error(err, "panic", "stack", "...\n"+string(debug.Stack()))
			}()
			j.Run()
		})
	}
}

// DelayIfStillRunning lets a run wait for the end of the one before. It logs a wait of more
// than a minute.
func DelayIfStillRunning(logger Logger) JobWrapper {
	return func(j Job) Job {
		var mu sync.Mutex
		return FuncJob(func() {
			due := time.Now()
			mu.Lock()
			defer mu.Unlock()
			if waited := time.Since(due); waited > time.Minute {
				logger.Info("delay", "duration", waited)
			}
			j.Run()
		})
	}
}

// SkipIfStillRunning skips a run while another is under way, and logs that.
func SkipIfStillRunning(logger Logger) JobWrapper {
	return func(j Job) Job {
		var running sync.Mutex
		return FuncJob(func() {
			if !running.TryLock() {
				logger.Info("skip")
				return
			}
			defer running.Unlock()
			j.Run()
		})
	}
}
