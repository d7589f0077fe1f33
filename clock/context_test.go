package clock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
)

// The tests in this file are of what Go's own tests of package context check of
// contexts with deadlines, and more.

var errOurs, errTheirs = errors.New("ours"), errors.New("theirs")

func TestADeadlinePasses(t *testing.T) {
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
		assert.Equal(t, context.DeadlineExceeded, ctx.Err(), "for good")
	})
}

func TestADeadlineThatPassedCancelsAtOnce(t *testing.T) {
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

func TestCancelEndsTheContextAndReleasesTheTimeout(t *testing.T) {
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
			assert.Equal(t, context.Canceled, ctx.Err(), "for good")
		}
	})
}

func TestTheEarlierDeadlineWins(t *testing.T) {
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

func TestAParentsEndEndsTheContextAndReleasesTheTimeout(t *testing.T) {
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

func TestAWaitIsEndedByTheParentAlone(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		parent, cancelParent := context.WithCancel(context.Background())
		ctx, cancel := s.timeout(parent, unit)
		defer cancel()
		done := ctx.Done()
		cancelParent()
		synctest.Wait() // with no call of the context's methods
		assert.True(t, isDone(done))
		assert.Zero(t, s.pending())
	})
}

func TestDoneTellsOfTheParentsEndAtOnce(t *testing.T) {
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

func TestAContextOfAParentThatEndedHasEnded(t *testing.T) {
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

// family is a context of s with children of every kind below it.
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

// TestCancelReachesChildrenBeforeItReturns is what callers of package context
// are used to, though it does not promise that.
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

func TestAChildThatEndsLeavesTheContextAlone(t *testing.T) {
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
		assert.Equal(t, errOurs, context.Cause(child), "for good")
	})
}

func TestCauses(t *testing.T) {
	type end struct{ err, cause error }
	for name, c := range map[string]struct {
		do   func(s shapes) (context.Context, func())
		want end
	}{
		"deadline": {func(s shapes) (context.Context, func()) {
			ctx, cancel := s.timeoutCause(context.Background(), unit, errOurs)
			pass(unit + slop)
			return ctx, cancel
		}, end{context.DeadlineExceeded, errOurs}},
		"deadline that had passed": {func(s shapes) (context.Context, func()) {
			ctx, cancel := s.deadlineCause(context.Background(), time.Now(), errOurs)
			return ctx, cancel
		}, end{context.DeadlineExceeded, errOurs}},
		"no cause given": {func(s shapes) (context.Context, func()) {
			ctx, cancel := s.timeoutCause(context.Background(), unit, nil)
			pass(unit + slop)
			return ctx, cancel
		}, end{context.DeadlineExceeded, context.DeadlineExceeded}},
		"cancelled first": {func(s shapes) (context.Context, func()) {
			ctx, cancel := s.timeoutCause(context.Background(), unit, errOurs)
			cancel()
			pass(unit + slop)
			return ctx, cancel
		}, end{context.Canceled, context.Canceled}},
		"parent first": {func(s shapes) (context.Context, func()) {
			parent, cancelParent := context.WithCancelCause(context.Background())
			ctx, cancel := s.timeoutCause(parent, unit, errOurs)
			cancelParent(errTheirs)
			pass(unit + slop)
			return ctx, cancel
		}, end{context.Canceled, errTheirs}},
		"parent later": {func(s shapes) (context.Context, func()) {
			parent, cancelParent := context.WithCancelCause(context.Background())
			ctx, cancel := s.timeoutCause(parent, unit, errOurs)
			pass(unit + slop)
			cancelParent(errTheirs)
			return ctx, cancel
		}, end{context.DeadlineExceeded, errOurs}},
		"parent's deadline": {func(s shapes) (context.Context, func()) {
			parent, cancelParent := s.timeoutCause(context.Background(), unit, errTheirs)
			ctx, cancel := s.timeoutCause(parent, 2*unit, errOurs)
			pass(unit + slop)
			return ctx, func() { cancel(); cancelParent() }
		}, end{context.DeadlineExceeded, errTheirs}},
		"a child of the standard library's": {func(s shapes) (context.Context, func()) {
			parent, cancelParent := s.timeoutCause(context.Background(), unit, errOurs)
			ctx, cancel := context.WithCancel(context.WithValue(parent, key{}, "value"))
			pass(unit + slop)
			return ctx, func() { cancel(); cancelParent() }
		}, end{context.DeadlineExceeded, errOurs}},
		"a value below": {func(s shapes) (context.Context, func()) {
			ctx, cancel := s.timeoutCause(context.Background(), unit, errOurs)
			pass(unit + slop)
			return context.WithValue(ctx, key{}, "value"), cancel
		}, end{context.DeadlineExceeded, errOurs}},
		"cancel after parent, unseen": {func(s shapes) (context.Context, func()) {
			parent, cancelParent := context.WithCancelCause(context.Background())
			ctx, cancel := s.timeoutCause(parent, unit, errOurs)
			cancelParent(errTheirs)
			cancel()
			return ctx, cancel
		}, end{context.Canceled, errTheirs}},
	} {
		t.Run(name, func(t *testing.T) {
			agree(t, func(t *testing.T, s shapes) {
				ctx, cancel := c.do(s)
				defer cancel()
				assert.Equal(t, c.want, end{ctx.Err(), context.Cause(ctx)})
			})
		})
	}
}

// TestACauseIsTheFirstOnes is apart, as the context ends by its own cancel and
// the parent, with a cause, later.
func TestACauseIsTheFirstOnes(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		for _, exceeds := range []bool{false, true} {
			parent, cancelParent := context.WithCancelCause(context.Background())
			ctx, cancel := s.timeout(parent, unit)
			if exceeds {
				pass(unit + slop)
			} else {
				cancel()
			}
			cancelParent(errTheirs)
			assert.Equal(t, ctx.Err(), context.Cause(ctx))
			cancel()
		}
	})
}

func TestWithoutCancelKeepsTheValuesOnly(t *testing.T) {
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

func TestTheErrorIsATimeout(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		ctx, cancel := s.timeout(context.Background(), 0)
		defer cancel()
		assert.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		timeout, ok := ctx.Err().(interface{ Timeout() bool })
		assert.True(t, ok && timeout.Timeout())
	})
}

func TestANilParentPanics(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		assert.Panics(t, func() { s.timeout(nil, unit) })                  //nolint:staticcheck // that is the test
		assert.Panics(t, func() { s.deadlineCause(nil, time.Now(), nil) }) //nolint:staticcheck // that is the test
	})
}

func TestTheStringIsAsInPackageContext(t *testing.T) {
	agree(t, func(t *testing.T, s shapes) {
		ctx, cancel := s.timeout(context.WithValue(context.Background(), key{}, "value"), unit)
		defer cancel()
		at, _ := ctx.Deadline()
		assert.Equal(t, "context.Background.WithValue(clock_test.key, value).WithDeadline("+at.String()+" [100ms])", fmt.Sprint(ctx))
	})
}

// foreign is a context of somebody else's, with an error of its own.
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

func TestAParentOfAnotherKindPassesItsErrorOn(t *testing.T) {
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

// TestChildrenNeedNoGoroutine makes children of every kind, and sees that a
// bubble in which nothing else runs has no goroutine for them: Go's own tests
// count them in package context.
func TestChildrenNeedNoGoroutine(t *testing.T) {
	onEngines(t, func(t *testing.T, timer engine) {
		s := shapesOf(clock.New(timer), timer.Pending)
		s.sleep(tick) // the timer has its worker
		parent, cancelParent := context.WithCancel(context.Background())
		defer cancelParent()
		before := goroutines()
		_, children, cancel := family(s, parent, unit)
		for _, child := range children {
			child.Done()
		}
		assert.Equal(t, before, goroutines())
		cancel()
	})
}

func TestATimeoutThatLosesToCancelChangesNothing(t *testing.T) {
	onEngines(t, func(t *testing.T, timer engine) {
		held := &holding{Timer: timer}
		c := clock.New(held)
		unseen, cancelUnseen := c.WithTimeoutCause(context.Background(), unit, errOurs)
		seen, cancelSeen := c.WithTimeoutCause(context.Background(), unit, errOurs)
		done := seen.Done()
		held.hold()
		pass(unit + slop)
		cancelUnseen()
		cancelSeen()
		<-done
		held.release()
		for _, ctx := range []context.Context{unseen, seen} {
			assert.Equal(t, context.Canceled, ctx.Err())
			assert.Equal(t, context.Canceled, context.Cause(ctx))
		}
	})
}

func TestATimeoutThatLosesToItsParentTellsTheParentsEnd(t *testing.T) {
	onEngines(t, func(t *testing.T, timer engine) {
		parent, cancelParent := context.WithCancelCause(context.Background())
		ctx, cancel := clock.New(timer).WithTimeoutCause(parent, unit, errOurs)
		defer cancel()
		cancelParent(errTheirs)
		pass(unit + slop) // the timeout comes due, unseen
		assert.Equal(t, context.Canceled, ctx.Err())
		assert.Equal(t, errTheirs, context.Cause(ctx))
	})
}
