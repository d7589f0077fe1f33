package clock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
)

type end struct{ err, cause error }

// causes are the ends of contexts, by name.
var causes = map[string]struct {
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
}

func TestCauses(t *testing.T) {
	for name, c := range causes {
		t.Run(name, func(t *testing.T) {
			agree(t, func(t *testing.T, s shapes) {
				ctx, cancel := c.do(s)
				defer cancel()
				assert.Equal(t, c.want, end{ctx.Err(), context.Cause(ctx)})
			})
		})
	}
}

// TestLaterEndOfTheParentKeepsTheCause ends a context before its parent, which ends with
// another cause.
func TestLaterEndOfTheParentKeepsTheCause(t *testing.T) {
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

func TestTaskAfterCancelChangesNothing(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		held := &holding{Timer: timer}
		c := newClock(t, held)
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

func TestTimeoutAfterTheParentsEndTakesItsError(t *testing.T) {
	onEngines(t, func(t *testing.T, timer hwt.Engine) {
		parent, cancelParent := context.WithCancelCause(context.Background())
		ctx, cancel := newClock(t, timer).WithTimeoutCause(parent, unit, errOurs)
		defer cancel()
		cancelParent(errTheirs)
		pass(unit + slop) // the timeout expires, and no method was called
		assert.Equal(t, context.Canceled, ctx.Err())
		assert.Equal(t, errTheirs, context.Cause(ctx))
	})
}
