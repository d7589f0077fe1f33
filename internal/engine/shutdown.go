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
func (h *Handle) TaskContext() context.Context { return h.workers.setup().runner.TaskContext() }

// awaitAll waits until the workers have ended and nothing is outstanding elsewhere,
// or ctx ends. If this is a worker, it waits for none, as awaitEnd; with an executor it
// is in the middle of handing something over, which is outstanding. A
// late notice that calls Shutdown is outstanding, too. It waits for no worker, since the
// task of another worker may wait for it.
func (g group) awaitAll(ctx context.Context) error {
	runner, own := g.setup().runner, int64(0)
	id := goroutineID()
	onWorker := g.setup().isWorker(id)
	_, late := g.setup().late.Load(id)
	if late || onWorker && runner.Executor != nil {
		own = 1
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
	if left.Running+left.Waiting <= 0 && len(left.Tasks) == 0 {
		return nil // the workers are about to end
	}
	runner.EndContexts()
	return left
}

// awaitWorkers waits until all workers have ended, or ctx ends, which is when it
// returns false.
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

// addLeft adds the task that the worker runs, and the notices that wait for it.
func (c *Core) addLeft(left *hwt.ShutdownError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left.Waiting += int64(len(c.schedule.nextNotices))
	if !c.firing.running {
		return
	}
	at := c.firing.progress()
	left.Waiting += int64(len(c.firing.notices)) - at.notices
	if at == (progress{}) {
		return
	}
	task := c.firing.at(at).task
	if !c.timer.runner.HandsOver(task) { // otherwise it was counted
		left.Running++
	}
	left.Tasks = append(left.Tasks, enginekit.TaskName(task))
}
