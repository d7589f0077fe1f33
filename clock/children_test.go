package clock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// registry is a parent of a foreign type that never ends. It counts the functions that are
// registered with AfterFunc, and calls meanwhile during a registration.
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

// A parent, such as a server's base context, may outlive millions of contexts.
func TestEndedContextIsUnlinkedFromItsParent(t *testing.T) {
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

func TestContextThatEndsDuringLinkingIsUnlinked(t *testing.T) {
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

// family returns a context of s with children of every kind below it.
func family(s shapes, parent context.Context, d time.Duration) (ctx context.Context, children map[string]context.Context, cancel func()) {
	ctx, cancelCtx := s.timeout(parent, d)
	value := context.WithValue(ctx, key{}, "value")
	canceled, cancel1 := context.WithCancel(ctx)
	below, cancel2 := context.WithCancelCause(value)
	timed, cancel3 := context.WithTimeout(below, 100*unit)
	ours, cancel4 := s.timeout(value, d/2+100*unit)
	sooner, cancel5 := s.deadline(canceled, time.Now().Add(d-1))
	children = map[string]context.Context{
		"value": value, "cancel": canceled, "cause": below, "timeout": timed, "ours": ours, "sooner": sooner,
	}
	return ctx, children, func() {
		cancelCtx()
		cancel1()
		cancel2(nil)
		cancel3()
		cancel4()
		cancel5()
	}
}

func TestChildrenEndWithTheContext(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		for name, end := range map[string]struct {
			err error
			end func(cancel func())
		}{
			"canceled": {context.Canceled, func(cancel func()) { cancel() }},
			"exceeded": {context.DeadlineExceeded, func(func()) { pass(unit + slop) }},
		} {
			ctx, cancelCtx := s.timeout(context.Background(), unit)
			deep, children, cancelAll := family(s, ctx, 200*unit)
			for _, child := range children {
				require.NoError(t, child.Err())
			}
			after := false
			context.AfterFunc(ctx, func() { after = true })
			end.end(cancelCtx)
			synctest.Wait()
			assert.True(t, after, name)
			children["deep"] = deep
			for kind, child := range children {
				assert.True(t, isDone(child.Done()), "%s %s", name, kind)
				assert.Equal(t, end.err, child.Err(), "%s %s", name, kind)
				assert.Equal(t, end.err, context.Cause(child), "%s %s", name, kind)
			}
			cancelAll()
			cancelCtx()
		}
	})
}

// TestCancelReachesChildrenBeforeItReturns tests a behavior that package context has
// but does not promise.
func TestCancelReachesChildrenBeforeItReturns(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		ctx, cancel := s.timeout(context.Background(), unit)
		child, cancelChild := context.WithCancel(context.WithValue(ctx, key{}, "value"))
		defer cancelChild()
		grandchild, cancelGrandchild := context.WithTimeout(child, unit/2)
		defer cancelGrandchild()
		dones := []<-chan struct{}{ctx.Done(), child.Done(), grandchild.Done()}
		cancel()
		for i, done := range dones {
			assert.True(t, isDone(done), i)
		}
	})
}

func TestEndOfAChildDoesNotEndTheContext(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		ctx, cancel := s.timeout(context.Background(), unit)
		defer cancel()
		child, cancelChild := context.WithCancelCause(ctx)
		cancelChild(errOurs)
		assert.Equal(t, errOurs, context.Cause(child))
		assert.NoError(t, ctx.Err())
		stop := context.AfterFunc(ctx, func() { assert.Fail(t, "was stopped") })
		assert.True(t, stop())
		assert.False(t, stop())
		pass(unit + slop)
		assert.Equal(t, context.DeadlineExceeded, ctx.Err())
		assert.Equal(t, errOurs, context.Cause(child), "the error does not change")
	})
}

// foreign is a context of a foreign type with an error of another kind.
type foreign struct {
	context.Context
	done chan struct{}
	err  error
}

func (f *foreign) Done() <-chan struct{} { return f.done }

func (f *foreign) Err() error {
	if isDone(f.done) {
		return f.err
	}
	return nil
}

// several is an error that cannot be compared.
type several []error

func (s several) Error() string { return fmt.Sprint([]error(s)) }

func TestErrorOfAForeignParentIsReturned(t *testing.T) {
	for _, err := range []error{errTheirs, several{errTheirs}, context.Canceled, context.DeadlineExceeded} {
		t.Run(fmt.Sprint("err=", err), func(t *testing.T) {
			agree(t, func(t *testing.T, s shapes) {
				parent := &foreign{context.Background(), make(chan struct{}), err}
				ctx, cancel := s.timeoutCause(parent, unit, errOurs)
				defer cancel()
				done := ctx.Done()
				close(parent.done)
				<-done
				assert.Equal(t, err, ctx.Err())
				assert.Equal(t, err, context.Cause(ctx))
				synctest.Wait()
				assert.Zero(t, s.pending())
			})
		})
	}
}

// TestChildrenNeedNoGoroutine creates children of every kind, and counts the goroutines of
// the bubble.
func TestChildrenNeedNoGoroutine(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		s := shapesOf(newClock(t, timer), timer.Pending)
		s.sleep(tick) // the worker of the timer starts
		parent, cancelParent := context.WithCancel(context.Background())
		defer cancelParent()
		before := goroutines()
		require.Positive(t, before, "at least this goroutine")
		_, children, cancel := family(s, parent, unit)
		for _, child := range children {
			child.Done()
		}
		assert.LessOrEqual(t, goroutines(), before)
		cancel()
	})
}
