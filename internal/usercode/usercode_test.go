package usercode_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// run calls Run on a new goroutine. It returns the errors that broken received, and whether
// Run returned.
func run(f func()) (errs []error, returned bool) {
	var done sync.WaitGroup
	done.Go(func() {
		usercode.Run(f, func(err error) { errs = append(errs, err) })
		returned = true
	})
	done.Wait()
	return errs, returned
}

func TestFunctionThatReturnsIsNotReported(t *testing.T) {
	calls := 0
	errs, returned := run(func() { calls++ })
	assert.Empty(t, errs)
	assert.True(t, returned)
	assert.Equal(t, 1, calls)
}

func TestPanicBecomesAnErrorWithItsStack(t *testing.T) {
	errs, returned := run(panicsHere)
	assert.True(t, returned)
	require.Len(t, errs, 1)
	var broken *hwt.PanicError
	require.ErrorAs(t, errs[0], &broken)
	assert.Equal(t, "no good", broken.Value)
	assert.Contains(t, string(broken.Stack), "panicsHere")
}

func panicsHere() { panic("no good") }

func TestPanicWithNilIsAPanic(t *testing.T) {
	errs, returned := run(func() { panic(nil) })
	assert.True(t, returned)
	require.Len(t, errs, 1)
	var value *runtime.PanicNilError
	assert.ErrorAs(t, errs[0], &value)
}

func TestGoexitIsReportedAndEndsTheGoroutine(t *testing.T) {
	for name, f := range map[string]func(){
		"plain": runtime.Goexit,
		"after a panic that was recovered": func() {
			defer runtime.Goexit()
			defer func() { _ = recover() }()
			panic("hidden")
		},
	} {
		errs, returned := run(f)
		assert.Equal(t, []error{hwt.ErrGoexit}, errs, name)
		assert.False(t, returned, name)
	}
}

func TestPanicOfBrokenPropagates(t *testing.T) {
	assert.PanicsWithValue(t, "again", func() {
		usercode.Run(panicsHere, func(error) { panic("again") })
	})
}

func TestRunDoesNotAllocate(t *testing.T) {
	n := 0
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		usercode.Run(func() { n++ }, func(error) { n-- })
	}))
}
