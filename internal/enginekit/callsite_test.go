package enginekit

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func deep(n int) uintptr {
	if n == 0 {
		return Callers(true).Caller()
	}
	return deep(n - 1)
}

func TestCallerIsTheFirstFrameOutside(t *testing.T) {
	frame, ok := CallerFrame(deep(3))
	require.True(t, ok)
	assert.Equal(t, "github.com/hashedwheel/hwt/internal/enginekit.deep", frame.Function)
	assert.Contains(t, frame.File, "callsite_test.go")
	assert.Positive(t, frame.Line)
}

func TestZeroHasNoFrame(t *testing.T) {
	_, ok := CallerFrame(0)
	assert.False(t, ok)
}

func TestProgramsAndTestsAreOutside(t *testing.T) {
	for function, want := range map[string]bool{
		"main.main":                                       true,
		"example.com/shop.(*Shop).Sell.func1":             true,
		"github.com/hashedwheel/hwtfork.New":              true,
		"github.com/hashedwheel/hwt/cmd/hwtdemo/orders.f": true,
		"github.com/hashedwheel/hwt.New":                  false,
		"github.com/hashedwheel/hwt/keyed.(*Wheel).Set":   false,
		"runtime.goexit":                                  false,
	} {
		assert.Equal(t, want, isOutside(runtime.Frame{Function: function, File: "/src/f.go"}), function)
	}
	assert.True(t, isOutside(runtime.Frame{Function: "github.com/hashedwheel/hwt.TestNew", File: "/src/f_test.go"}))
}
