package hwttest

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// An assertion reports a failed condition, and ends the check if it is fatal. The methods
// return whether the condition holds, and take an optional message: a value, or a format
// with its arguments.
//
// This package uses no assertion library, so that importing it adds no dependency. Checks
// assert millions of times, so the methods format, and look for the caller, only after a
// failure.
type assertion struct{ fatal bool }

var assert, require = assertion{fatal: false}, assertion{fatal: true}

// fail fails tb, and returns false.
func (a assertion) fail(tb testing.TB, msg []any, format string, args ...any) bool {
	text := fmt.Sprintf(format, args...)
	if len(msg) > 0 {
		format, isText := msg[0].(string)
		if !isText {
			format = fmt.Sprint(msg[0])
		}
		text += " (" + fmt.Sprintf(format, msg[1:]...) + ")"
	}
	tb.Errorf("%s: %s", place(), text)
	if a.fatal {
		tb.FailNow()
	}
	return false
}

// place returns the line of the failed assertion, and the lines from which it was called.
func place() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var lines []string
	for {
		frame, more := frames.Next()
		if file := path.Base(frame.File); strings.Contains(frame.Function, "/hwttest.") && file != "assert.go" && file != "hwttest.go" {
			lines = append(lines, fmt.Sprintf("%s:%d", file, frame.Line))
		}
		if !more {
			return strings.Join(lines, ", from ")
		}
	}
}

func (a assertion) True(tb testing.TB, ok bool, msg ...any) bool {
	return ok || a.fail(tb, msg, "got false, want true")
}

func (a assertion) False(tb testing.TB, not bool, msg ...any) bool {
	return !not || a.fail(tb, msg, "got true, want false")
}

// Equal compares integers of different types by value, and other values deeply.
func (a assertion) Equal(tb testing.TB, want, got any, msg ...any) bool {
	return equal(want, got) || a.fail(tb, msg, "got %v, want %v", got, want)
}

// Zero fails unless got is the zero value of its type.
func (a assertion) Zero(tb testing.TB, got any, msg ...any) bool {
	return reflect.ValueOf(got).IsZero() || a.fail(tb, msg, "got %v, want zero", got)
}

// Greater compares numbers of different types by value.
func (a assertion) Greater(tb testing.TB, got, bound any, msg ...any) bool {
	return number(got) > number(bound) || a.fail(tb, msg, "got %v, want more than %v", got, bound)
}

// LessOrEqual compares numbers of different types by value.
func (a assertion) LessOrEqual(tb testing.TB, got, bound any, msg ...any) bool {
	return number(got) <= number(bound) || a.fail(tb, msg, "got %v, want at most %v", got, bound)
}

// Nil fails for an interface that holds a nil pointer.
func (a assertion) Nil(tb testing.TB, got any, msg ...any) bool {
	return got == nil || a.fail(tb, msg, "got %v, want nil", got)
}

func (a assertion) NotNil(tb testing.TB, got any, msg ...any) bool {
	return got != nil || a.fail(tb, msg, "got nil")
}

// Len and Empty take a slice or a string.
func (a assertion) Len(tb testing.TB, got any, want int, msg ...any) bool {
	n := reflect.ValueOf(got).Len()
	return n == want || a.fail(tb, msg, "got length %d, want %d", n, want)
}

func (a assertion) Empty(tb testing.TB, got any, msg ...any) bool { return a.Len(tb, got, 0, msg...) }

func (a assertion) Contains(tb testing.TB, text, part string, msg ...any) bool {
	return strings.Contains(text, part) || a.fail(tb, msg, "got %q, want %q in it", text, part)
}

func (a assertion) NoError(tb testing.TB, err error, msg ...any) bool {
	return err == nil || a.fail(tb, msg, "got error %v", err)
}

func (a assertion) ErrorIs(tb testing.TB, err, target error, msg ...any) bool {
	return errors.Is(err, target) || a.fail(tb, msg, "got error %v, want %v", err, target)
}

// equal reports deep equality, or the equality of two integers.
func equal(want, got any) bool {
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	if w.IsValid() && g.IsValid() && w.CanInt() && g.CanInt() {
		return w.Int() == g.Int()
	}
	return reflect.DeepEqual(want, got)
}

// number returns an integer or a float of any type as a float. That is exact for
// durations up to a hundred days.
func number(v any) float64 {
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return float64(r.Int())
	case r.CanUint():
		return float64(r.Uint())
	case r.CanFloat():
		return r.Float()
	}
	panic(fmt.Sprintf("hwttest: %T is not a number", v))
}
