package enginekit

import (
	"context"
	"sync"

	"github.com/hashedwheel/hwt"
)

// Contexts holds the context of a timer's [hwt.ContextTaskFunc]s, which the first use
// creates. The zero value is ready for use.
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

// EndContexts cancels the context.
func (c *Contexts) EndContexts() {
	c.once.Do(c.make)
	c.end(hwt.ErrStopped)
}
