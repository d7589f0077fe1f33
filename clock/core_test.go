package clock_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

// registry is a parent of another kind that knows who waits for its end, and
// never ends. It calls meanwhile, if set, while somebody registers.
type registry struct {
	context.Context
	done      chan struct{}
	waiting   int
	meanwhile func()
}

func newRegistry() *registry {
	return &registry{Context: context.Background(), done: make(chan struct{})}
}

func (r *registry) Done() <-chan struct{} { return r.done }

func (r *registry) AfterFunc(func()) (stop func() bool) {
	r.waiting++
	if r.meanwhile != nil {
		r.meanwhile()
	}
	return func() bool { r.waiting--; return true }
}

// TestAContextThatEndedIsNotHeldByItsParent: a parent, say that of a whole
// server, may outlive very many.
func TestAContextThatEndedIsNotHeldByItsParent(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		parent := newRegistry()
		ctx, cancel := s.timeout(parent, unit)
		ctx.Done()
		assert.Equal(t, 1, parent.waiting)
		cancel()
		assert.Zero(t, parent.waiting, "cancelled")
		ctx, cancel = s.timeout(parent, unit)
		defer cancel()
		ctx.Done()
		pass(unit + slop)
		assert.Zero(t, parent.waiting, "the deadline passed")
	})
}

func TestAContextThatEndsWhileItRegistersIsNotHeldByItsParent(t *testing.T) {
	onClocks(t, func(t *testing.T, s shapes) {
		parent := newRegistry()
		ctx, cancel := s.timeout(parent, unit)
		parent.meanwhile = cancel
		assert.True(t, isDone(ctx.Done()))
		assert.Zero(t, parent.waiting)
		assert.Equal(t, context.Canceled, ctx.Err())
		synctest.Wait()
	})
}
