package enginekit

import (
	"context"
	"sync"

	"github.com/hashedwheel/hwt"
)

// Contexts has the context of a timer's [hwt.ContextTaskFunc]s. The zero value is ready,
// and costs nothing before the first of them.
type Contexts struct {
	once sync.Once
	ctx  context.Context
	end  context.CancelCauseFunc
}

func (c *Contexts) make() { c.ctx, c.end = context.WithCancelCause(context.Background()) }

// TaskContext returns the context.
func (c *Contexts) TaskContext() context.Context {
	c.once.Do(c.make)
	return c.ctx
}

// EndContexts ends the context.
func (c *Contexts) EndContexts() {
	c.once.Do(c.make)
	c.end(hwt.ErrStopped)
}
