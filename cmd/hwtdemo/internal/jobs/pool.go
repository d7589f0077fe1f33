// Package jobs runs a command once for each of many events, a limited number of
// times at once and never through a shell.
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

// Command is what a [Pool] runs for each job. The job's id and message are in the
// environment variables HWT_ID and HWT_MESSAGE, and never part of a command line.
type Command struct {
	Args   []string  // the program and its arguments; not empty
	Stdout io.Writer // of all jobs; an *os.File is given to them as it is
	Stderr io.Writer
}

// killAfter is how long a job may take to end after Stop.
const killAfter = 2 * time.Second

// Pool runs jobs. Make it with New; all methods are safe for concurrent use.
type Pool struct {
	command  Command
	limit    int
	onFailed func(id string, err error)
	ctx      context.Context // ends with Stop
	stop     context.CancelFunc

	mu      sync.Mutex
	queue   []job              // waiting for a worker. Guarded by mu.
	workers int                // Guarded by mu.
	running map[*exec.Cmd]bool // Guarded by mu.
	counts  Counts             // Guarded by mu.
	work    sync.WaitGroup     // the workers
}

// Counts is what became of the jobs.
type Counts struct {
	Succeeded int
	Failed    int
	Stopped   int // while running
	NotRun    int // because of Stop
}

type job struct{ id, message string }

// New returns a pool that runs command at most limit times at once. onFailed is
// called for each job that failed or was stopped, possibly from several goroutines.
func New(command Command, limit int, onFailed func(id string, err error)) *Pool {
	ctx, stop := context.WithCancel(context.Background())
	return &Pool{
		command: command, limit: limit, onFailed: onFailed, ctx: ctx, stop: stop,
		running: make(map[*exec.Cmd]bool),
	}
}

// Submit runs a job as soon as fewer than limit run. It does not block.
func (p *Pool) Submit(id, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, job{id: id, message: message})
	if p.workers < p.limit {
		p.workers++
		p.work.Go(p.runJobs)
	}
}

// Wait waits until all jobs submitted before have ended.
func (p *Pool) Wait() Counts {
	p.work.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// Stop lets no more jobs begin, asks the running ones to end, and kills them two
// seconds later.
func (p *Pool) Stop() { p.stop() }

// Kill stops the pool and kills the running jobs at once.
func (p *Pool) Kill() {
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for cmd := range p.running {
		kill(cmd)
	}
}

// runJobs runs jobs until none waits.
func (p *Pool) runJobs() {
	for {
		j, ok := p.next()
		if !ok {
			return
		}
		p.count(j, p.run(j))
	}
}

// next returns the job that has waited longest. Without one, the worker no longer
// counts when next returns, so that the next Submit makes another.
func (p *Pool) next() (job, bool) {
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

var (
	errStopped = errors.New("stopped")
	errNotRun  = errors.New("not run")
)

// count counts the end of a job, and reports it if it failed or was stopped.
func (p *Pool) count(j job, err error) {
	counter := &p.counts.Failed
	switch {
	case err == nil:
		counter = &p.counts.Succeeded
	case errors.Is(err, errNotRun):
		counter = &p.counts.NotRun
	case errors.Is(err, errStopped):
		counter = &p.counts.Stopped
	}
	p.mu.Lock()
	*counter++
	p.mu.Unlock()
	if err != nil && !errors.Is(err, errNotRun) {
		p.onFailed(j.id, err)
	}
}

// run runs one job to its end.
func (p *Pool) run(j job) error {
	cmd := exec.CommandContext(p.ctx, p.command.Args[0], p.command.Args[1:]...)
	cmd.Env = append(os.Environ(), "HWT_ID="+j.id, "HWT_MESSAGE="+j.message)
	cmd.Stdout, cmd.Stderr = p.command.Stdout, p.command.Stderr
	cmd.WaitDelay = killAfter
	makeStoppable(cmd)
	if err := p.start(cmd); err != nil {
		return err
	}
	err := cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, cmd)
	if p.ctx.Err() != nil && err != nil {
		kill(cmd) // what is left of its group
		return fmt.Errorf("%w (%v)", errStopped, err)
	}
	return err
}

// start starts cmd unless the pool is stopped. It holds mu, so that Kill misses
// none.
func (p *Pool) start(cmd *exec.Cmd) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return errNotRun
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.running[cmd] = true
	return nil
}
