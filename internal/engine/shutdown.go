package engine

import (
	"context"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// Shutdown implements hwt.Engine.
func (h *Handle) Shutdown(ctx context.Context) ([]hwt.Timeout, error) {
	unprocessed, ok := h.halt()
	h.release()
	if !ok {
		return nil, nil
	}
	return unprocessed, h.workers.awaitAll(ctx)
}

// TaskContext returns the context of tasks.
func (h *Handle) TaskContext() context.Context { return h.workers.env().runner.TaskContext() }

// awaitAll waits until the workers and all outstanding tasks elsewhere have ended, or ctx ends.
// On a worker, awaitAll does not wait for workers, as awaitEnd. A late notice that calls
// Shutdown waits for no worker either, since the task of another worker may wait for the
// notice. A task that the calling goroutine runs or hands over does not count.
func (g group) awaitAll(ctx context.Context) error {
	env, id := g.env(), goroutineID()
	runner, own := env.runner, g.handingOver(id)
	onWorker := env.isWorker(id)
	notice, late := env.late.Load(id)
	if late {
		own = notice.(int64)
	}
	if (onWorker || late || g.awaitWorkers(ctx)) && runner.Await(ctx, own) {
		return nil
	}
	left := runner.Left(ctx, own)
	if !onWorker {
		for i := range g {
			g[i].core.addLeft(left)
		}
	}
	return runner.GiveUp(left)
}

// handingOver returns 1 if the calling goroutine, id, is a worker that hands a task or a notice
// to an executor, and 0 otherwise.
func (g group) handingOver(id int64) int64 {
	for i := range g {
		c := g[i].core
		if id == 0 || c.worker.workerID.Load() != id {
			continue
		}
		if at := c.firing.progress(); at != (progress{}) {
			return c.env.runner.Own(c.firing.at(at).task, true)
		}
	}
	return 0
}

// awaitWorkers waits until all workers have ended. awaitWorkers returns false if ctx ends
// first.
func (g group) awaitWorkers(ctx context.Context) bool {
	for i := range g {
		select {
		case <-g[i].core.worker.done:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// addLeft adds the task that the worker runs, and the notices that wait for the worker.
func (c *Core) addLeft(left *hwt.ShutdownError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left.Waiting += int64(len(c.schedule.notices.next))
	if !c.firing.running {
		return
	}
	at := c.firing.progress()
	left.Waiting += int64(len(c.firing.notices)) - at.notices
	if at == (progress{}) {
		return
	}
	task := c.firing.at(at).task
	if !c.env.runner.HandsOver(task) { // otherwise the task was counted
		left.Running++
	}
	left.Tasks = append(left.Tasks, enginekit.TaskName(task))
}
