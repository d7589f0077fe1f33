// Package jobs runs a command for each thing that happened, a limited number at
// once and never through a shell.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Command is what a Pool runs for each job. The job's id and message are in the
// environment variables HWT_ID and HWT_MESSAGE; nothing of them is ever part of
// a command line.
type Command struct {
	Args   []string  // the program and its arguments; not empty
	Stdout io.Writer // where the jobs write, all at once if it is an *os.File
	Stderr io.Writer
}

// killAfter is how long a job that was told to end may take for it.
const killAfter = 2 * time.Second

// Pool runs jobs. Make it with New; all methods are safe for concurrent use.
type Pool struct {
	ctx      context.Context // the end of which ends the jobs
	command  Command
	limit    int
	onFailed func(id string, err error)

	mu      sync.Mutex
	queue   []job  // waiting for a free worker. Guarded by mu.
	workers int    // running. Guarded by mu.
	counts  Counts // Guarded by mu.
	running sync.WaitGroup
}

// Counts is what became of the jobs.
type Counts struct {
	Succeeded int
	Failed    int
	Stopped   int // ended by the end of the context
	NotRun    int // never begun, because of the end of the context
}

type job struct{ id, message string }

// New returns a pool that runs command, at most limit at once. When ctx ends,
// no more jobs begin, and those that run are asked to end, and after two seconds
// killed. onFailed is called for each job that did not succeed, one at a time
// for each worker.
func New(ctx context.Context, command Command, limit int, onFailed func(id string, err error)) *Pool {
	return &Pool{ctx: ctx, command: command, limit: limit, onFailed: onFailed}
}

// Submit runs a job as soon as there is room for it. It does not block.
func (p *Pool) Submit(id, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, job{id: id, message: message})
	if p.workers < p.limit {
		p.workers++
		p.running.Go(p.work)
	}
}

// Wait waits until all jobs submitted before have ended.
func (p *Pool) Wait() Counts {
	p.running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// work runs jobs until none waits.
func (p *Pool) work() {
	for {
		j, ok := p.take()
		if !ok {
			return
		}
		p.note(j, p.run(j))
	}
}

// take takes the job that waits longest. Without one the worker is off the
// count already when take returns, so that the next Submit makes a new one.
func (p *Pool) take() (job, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		p.workers--
		return job{}, false
	}
	j := p.queue[0]
	p.queue = p.queue[1:]
	return j, true
}

// Why a job had no end of its own.
var (
	errStopped = errors.New("stopped by the interrupt")
	errNotRun  = errors.New("not run because of the interrupt")
)

// note counts a job's end, and reports it if it failed.
func (p *Pool) note(j job, err error) {
	p.mu.Lock()
	switch {
	case err == nil:
		p.counts.Succeeded++
	case errors.Is(err, errNotRun):
		p.counts.NotRun++
	case errors.Is(err, errStopped):
		p.counts.Stopped++
	default:
		p.counts.Failed++
	}
	p.mu.Unlock()
	if err != nil {
		p.onFailed(j.id, err)
	}
}

// run runs one job and waits for its end.
func (p *Pool) run(j job) error {
	if p.ctx.Err() != nil {
		return errNotRun
	}
	cmd := exec.CommandContext(p.ctx, p.command.Args[0], p.command.Args[1:]...)
	cmd.Env = append(os.Environ(), "HWT_ID="+j.id, "HWT_MESSAGE="+j.message)
	cmd.Stdout, cmd.Stderr = p.command.Stdout, p.command.Stderr
	cmd.WaitDelay = killAfter
	makeStoppable(cmd)
	err := cmd.Run()
	if p.ctx.Err() != nil && err != nil {
		killRest(cmd)
		return fmt.Errorf("%w (%v)", errStopped, err)
	}
	return err
}
