package clock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// The tests in this file, children_test.go and cause_test.go cover the cases of
// Go's tests for contexts with deadlines, and more.

var errOurs, errTheirs = errors.New("ours"), errors.New("theirs")

func TestContextEndsAtItsDeadline(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		at := time.Now().Add(unit)
		ctx, cancel := s.deadline(context.Background(), at)
		defer cancel()
		deadline, ok := ctx.Deadline()
		assert.True(t, ok)
		assert.Equal(t, at, deadline)
		assert.NoError(t, ctx.Err())
		assert.NoError(t, context.Cause(ctx))
		assert.False(t, isDone(ctx.Done()))
		pass(unit - slop)
		assert.NoError(t, ctx.Err())
		<-ctx.Done()
		assert.False(t, time.Now().Before(at))
		assert.Less(t, time.Since(at), slop)
		assert.Equal(t, context.DeadlineExceeded, ctx.Err())
		assert.Equal(t, context.DeadlineExceeded, context.Cause(ctx))
		cancel()
		assert.Equal(t, context.DeadlineExceeded, ctx.Err(), "the error does not change")
	})
}

func TestPastDeadlineEndsTheContextImmediately(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		for _, d := range []time.Duration{0, -1, -unit} {
			ctx, cancel := s.timeout(context.Background(), d)
			assert.True(t, isDone(ctx.Done()))
			assert.Equal(t, context.DeadlineExceeded, ctx.Err())
			cancel()
			assert.Equal(t, context.DeadlineExceeded, ctx.Err())
			child, cancelChild := context.WithCancel(ctx)
			assert.Equal(t, context.DeadlineExceeded, child.Err())
			cancelChild()
		}
		assert.Zero(t, s.pending())
	})
}

func TestCancelReleasesTheTimeout(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		for _, waited := range []bool{false, true} {
			ctx, cancel := s.timeout(context.Background(), unit)
			var done <-chan struct{}
			if waited {
				done = ctx.Done()
			}
			cancel()
			assert.Zero(t, s.pending())
			assert.True(t, isDone(ctx.Done()))
			assert.True(t, !waited || isDone(done))
			assert.Equal(t, context.Canceled, ctx.Err())
			assert.Equal(t, context.Canceled, context.Cause(ctx))
			cancel()
			pass(2 * unit)
			assert.Equal(t, context.Canceled, ctx.Err(), "the error does not change")
		}
	})
}

func TestEarlierDeadlineWins(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		parent, cancelParent := s.timeout(context.Background(), unit)
		defer cancelParent()
		before := s.pending()
		later, cancelLater := s.timeout(parent, 3*unit)
		defer cancelLater()
		assert.Equal(t, before, s.pending(), "no timeout is needed")
		sooner, cancelSooner := s.timeout(parent, unit/2)
		defer cancelSooner()
		of, _ := parent.Deadline()
		deadline, _ := later.Deadline()
		assert.Equal(t, of, deadline)
		deadline, _ = sooner.Deadline()
		assert.Equal(t, unit/2, of.Sub(deadline))
		pass(unit/2 + slop)
		assert.Equal(t, context.DeadlineExceeded, sooner.Err())
		assert.NoError(t, parent.Err())
		assert.NoError(t, later.Err())
		pass(unit / 2)
		assert.Equal(t, context.DeadlineExceeded, parent.Err())
		assert.Equal(t, context.DeadlineExceeded, later.Err())
	})
}

func TestEndOfTheParentReleasesTheTimeout(t *testing.T) {
	for _, waited := range []bool{false, true} {
		t.Run(fmt.Sprint("waited=", waited), func(t *testing.T) {
			agree(t, func(t *testing.T, s shapes) {
				parent, cancelParent := context.WithCancelCause(context.Background())
				between := context.WithValue(parent, key{}, "value")
				ctx, cancel := s.timeout(between, unit)
				defer cancel()
				var done <-chan struct{}
				if waited {
					done = ctx.Done()
				}
				cancelParent(errTheirs)
				assert.Equal(t, context.Canceled, ctx.Err())
				assert.Equal(t, errTheirs, context.Cause(ctx))
				assert.True(t, isDone(ctx.Done()))
				synctest.Wait()
				assert.True(t, !waited || isDone(done))
				assert.Zero(t, s.pending())
			})
		})
	}
}

func TestEndOfTheParentClosesDone(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		parent, cancelParent := context.WithCancel(context.Background())
		ctx, cancel := s.timeout(parent, unit)
		defer cancel()
		done := ctx.Done()
		cancelParent()
		synctest.Wait() // and no method of the context is called
		assert.True(t, isDone(done))
		assert.Zero(t, s.pending())
	})
}

func TestDoneAfterTheParentsEndIsClosed(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		for _, waited := range []bool{false, true} {
			parent, cancelParent := context.WithCancel(context.Background())
			ctx, cancel := s.timeout(parent, unit)
			defer cancel()
			if waited {
				ctx.Done()
			}
			cancelParent()
			assert.True(t, isDone(ctx.Done()))
		}
	})
}

func TestContextEndsWithAnEarlierParent(t *testing.T) {
	for _, waited := range []bool{false, true} {
		t.Run(fmt.Sprint("waited=", waited), func(t *testing.T) {
			agree(t, func(t *testing.T, s shapes) {
				grandparent, cancelAll := context.WithCancelCause(context.Background())
				parent, cancelParent := s.timeout(grandparent, unit)
				defer cancelParent()
				ctx, cancel := s.timeoutCause(parent, 2*unit, errOurs)
				defer cancel()
				assert.Equal(t, fmt.Sprint(parent)+".WithCancel", fmt.Sprint(ctx))
				if waited {
					ctx.Done()
				}
				cancelAll(errTheirs)
				assert.Equal(t, context.Canceled, ctx.Err())
				assert.True(t, isDone(ctx.Done()))
				assert.Equal(t, errTheirs, context.Cause(ctx))
			})
		})
	}
}

func TestContextOfAnEndedParentHasEnded(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		parent, cancelParent := context.WithCancelCause(context.Background())
		cancelParent(errTheirs)
		ctx, cancel := s.timeoutCause(parent, -unit, errOurs)
		defer cancel()
		assert.Equal(t, context.Canceled, ctx.Err())
		assert.Equal(t, errTheirs, context.Cause(ctx))
		assert.True(t, isDone(ctx.Done()))
		assert.Zero(t, s.pending())
	})
}

func TestWithoutCancelKeepsOnlyTheValues(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		ctx, cancel := s.timeoutCause(context.WithValue(context.Background(), key{}, "value"), unit, errOurs)
		defer cancel()
		free := context.WithoutCancel(ctx)
		pass(unit + slop)
		assert.NoError(t, free.Err())
		assert.NoError(t, context.Cause(free))
		assert.Nil(t, free.Done())
		assert.Equal(t, "value", free.Value(key{}))
		assert.Equal(t, "value", ctx.Value(key{}))
		assert.Nil(t, ctx.Value("other"))
	})
}

func TestErrorOfADeadlineIsATimeout(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		ctx, cancel := s.timeout(context.Background(), 0)
		defer cancel()
		assert.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		timeout, ok := ctx.Err().(interface{ Timeout() bool })
		assert.True(t, ok && timeout.Timeout())
	})
}

func TestNilParentPanics(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		assert.Panics(t, func() { s.timeout(nil, unit) })                  //nolint:staticcheck // the nil parent is tested
		assert.Panics(t, func() { s.deadlineCause(nil, time.Now(), nil) }) //nolint:staticcheck // the nil parent is tested
	})
}

func TestStringEqualsThatOfPackageContext(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		ctx, cancel := s.timeout(context.WithValue(context.Background(), key{}, "value"), unit)
		defer cancel()
		at, _ := ctx.Deadline()
		text := "context.Background.WithValue(clock_test.key, value).WithDeadline(" + at.String() + " [100ms])"
		assert.Equal(t, text, fmt.Sprint(ctx))
		same, cancelSame := s.deadline(ctx, at)
		defer cancelSame()
		assert.Equal(t, text+".WithDeadline("+at.String()+" [100ms])", fmt.Sprint(same))
		later, cancelLater := s.deadline(ctx, at.Add(1))
		defer cancelLater()
		assert.Equal(t, text+".WithCancel", fmt.Sprint(later))
	})
}
