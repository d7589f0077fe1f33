package context_test

import (
	std "context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/dropin/context"
	"github.com/hashedwheel/hwt/dropin/internal/stdapi"
	"github.com/hashedwheel/hwt/dropin/internal/wheeltest"
)

func TestMain(m *testing.M) { wheeltest.Main(m) }

func TestEveryNameOfPackageContextIsHere(t *testing.T) {
	missing, err := stdapi.Missing("context", ".")
	require.NoError(t, err)
	assert.Empty(t, missing, "add them to std.go")
}

var errLate = errors.New("late")

// all are the functions that make deadlines, and the cause that each gives.
var all = map[string]struct {
	make  func(parent context.Context, d time.Duration) (context.Context, context.CancelFunc)
	cause error
}{
	"WithTimeout": {context.WithTimeout, context.DeadlineExceeded},
	"WithTimeoutCause": {func(p context.Context, d time.Duration) (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(p, d, errLate)
	}, errLate},
	"WithDeadline": {func(p context.Context, d time.Duration) (context.Context, context.CancelFunc) {
		return context.WithDeadline(p, time.Now().Add(d))
	}, context.DeadlineExceeded},
	"WithDeadlineCause": {func(p context.Context, d time.Duration) (context.Context, context.CancelFunc) {
		return context.WithDeadlineCause(p, time.Now().Add(d), errLate)
	}, errLate},
}

func TestDeadlinesAreOnTheWheel(t *testing.T) {
	before := wheeltest.Pending()
	for name, way := range all {
		ctx, cancel := way.make(context.Background(), time.Hour)
		assert.Equal(t, before+1, wheeltest.Pending(), name)
		var _ std.Context = ctx
		cancel()
		assert.Equal(t, context.Canceled, ctx.Err(), name)
		assert.Equal(t, before, wheeltest.Pending(), name)
	}
}

func TestDeadlinesEndContextsAndTheirChildren(t *testing.T) {
	for name, way := range all {
		ctx, cancel := way.make(context.Background(), 5*time.Millisecond)
		defer cancel()
		type key struct{}
		child, cancelChild := std.WithCancel(context.WithValue(ctx, key{}, 1))
		defer cancelChild()
		<-child.Done()
		assert.Equal(t, std.DeadlineExceeded, child.Err(), name)
		assert.Equal(t, way.cause, context.Cause(child), name)
	}
}

// TestCancelReachesDeadlinesBelow checks the order that package dropin documents.
func TestCancelReachesDeadlinesBelow(t *testing.T) {
	for name, way := range all {
		parent, cancelParent := context.WithCancelCause(context.Background())
		ctx, cancel := way.make(parent, time.Hour)
		defer cancel()
		child, cancelChild := context.WithCancel(ctx)
		defer cancelChild()
		early := ctx.Done()
		cancelParent(errLate)
		assert.Equal(t, context.Canceled, ctx.Err(), "%s: when cancel returns", name)
		<-early
		<-child.Done()
		assert.Equal(t, errLate, context.Cause(child), name)
	}
}

func TestBubblesHavePackageContext(t *testing.T) {
	before := wheeltest.Pending()
	for name, way := range all {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := way.make(context.Background(), time.Hour)
			defer cancel()
			assert.Equal(t, before, wheeltest.Pending(), name)
			start := time.Now()
			<-ctx.Done()
			assert.Equal(t, time.Hour, time.Since(start), name)
			assert.Equal(t, way.cause, context.Cause(ctx), name)
		})
	}
}
