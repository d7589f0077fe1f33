package soak

import (
	"errors"
	"runtime"
	"time"
)

// executor is a bad one: it runs most of what it is given, now, soon or
// elsewhere, and refuses or breaks at some.
type executor struct{ round *round }

var errFull = errors.New("the executor is full")

// Execute implements hwt.Executor.
func (e executor) Execute(task func()) error {
	r := e.round
	switch r.executed.Add(1) % 64 { // what it drops is reported to onError, a fault there
	case 0:
		r.dropped.Add(1)
		return errFull
	case 1:
		r.dropped.Add(1)
		panic("the executor")
	case 2:
		r.dropped.Add(1)
		runtime.Goexit()
	case 3:
		r.faults.Add(1)
		time.Sleep(time.Millisecond)
	case 4:
		go func() {
			time.Sleep(time.Millisecond)
			task()
		}()
		return nil
	case 5, 6, 7, 8:
		task()
		return nil
	}
	go task()
	return nil
}
