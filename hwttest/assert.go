package hwttest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// An assertion reports a failed condition, and ends the check if it is fatal. Its
// methods return whether the condition holds. They take an optional message: a value,
// or a format with its arguments.
//
// This package uses no assertion library, so that importing it adds no dependency.
type assertion struct{ fatal bool }

var assert, require = assertion{fatal: false}, assertion{fatal: true}

// report fails tb with text and msg, unless ok.
func (a assertion) report(tb testing.TB, ok bool, text string, msg []any) bool {
	tb.Helper()
	if ok {
		return true
	}
	if len(msg) > 0 {
		format, isText := msg[0].(string)
		if !isText {
			format = fmt.Sprint(msg[0])
		}
		text += " (" + fmt.Sprintf(format, msg[1:]...) + ")"
	}
	tb.Errorf("%s", text)
	if a.fatal {
		tb.FailNow()
	}
	return false
}

// True fails for false.
func (a assertion) True(tb testing.TB, ok bool, msg ...any) bool {
	tb.Helper()
	return a.report(tb, ok, "got false, want true", msg)
}

// False fails for true.
func (a assertion) False(tb testing.TB, not bool, msg ...any) bool {
	tb.Helper()
	return a.report(tb, !not, "got true, want false", msg)
}

// Equal compares integers of different types by value.
func (a assertion) Equal(tb testing.TB, want, got any, msg ...any) bool {
	tb.Helper()
	return a.report(tb, equal(want, got), fmt.Sprintf("got %v, want %v", got, want), msg)
}

// Zero fails unless got is the zero value of its type.
func (a assertion) Zero(tb testing.TB, got any, msg ...any) bool {
	tb.Helper()
	return a.report(tb, reflect.ValueOf(got).IsZero(), fmt.Sprintf("got %v, want zero", got), msg)
}

// Greater compares numbers of different types by value.
func (a assertion) Greater(tb testing.TB, got, bound any, msg ...any) bool {
	tb.Helper()
	return a.report(tb, number(got) > number(bound), fmt.Sprintf("got %v, want more than %v", got, bound), msg)
}

// LessOrEqual compares numbers of different types by value.
func (a assertion) LessOrEqual(tb testing.TB, got, bound any, msg ...any) bool {
	tb.Helper()
	return a.report(tb, number(got) <= number(bound), fmt.Sprintf("got %v, want at most %v", got, bound), msg)
}

// Nil fails for an interface that holds a nil pointer.
func (a assertion) Nil(tb testing.TB, got any, msg ...any) bool {
	tb.Helper()
	return a.report(tb, got == nil, fmt.Sprintf("got %v, want nil", got), msg)
}

func (a assertion) NotNil(tb testing.TB, got any, msg ...any) bool {
	tb.Helper()
	return a.report(tb, got != nil, "got nil", msg)
}

// Len, Empty and NotEmpty take a slice or a string.
func (a assertion) Len(tb testing.TB, got any, want int, msg ...any) bool {
	tb.Helper()
	n := reflect.ValueOf(got).Len()
	return a.report(tb, n == want, fmt.Sprintf("got length %d, want %d", n, want), msg)
}

func (a assertion) Empty(tb testing.TB, got any, msg ...any) bool {
	tb.Helper()
	return a.Len(tb, got, 0, msg...)
}

func (a assertion) NotEmpty(tb testing.TB, got any, msg ...any) bool {
	tb.Helper()
	return a.report(tb, reflect.ValueOf(got).Len() > 0, "got length 0", msg)
}

func (a assertion) Contains(tb testing.TB, text, part string, msg ...any) bool {
	tb.Helper()
	return a.report(tb, strings.Contains(text, part), fmt.Sprintf("got %q, want %q in it", text, part), msg)
}

func (a assertion) NotContains(tb testing.TB, text, part string, msg ...any) bool {
	tb.Helper()
	return a.report(tb, !strings.Contains(text, part), fmt.Sprintf("got %q, want no %q in it", text, part), msg)
}

func (a assertion) NoError(tb testing.TB, err error, msg ...any) bool {
	tb.Helper()
	return a.report(tb, err == nil, fmt.Sprintf("got error %v", err), msg)
}

func (a assertion) ErrorIs(tb testing.TB, err, target error, msg ...any) bool {
	tb.Helper()
	return a.report(tb, errors.Is(err, target), fmt.Sprintf("got error %v, want %v", err, target), msg)
}

func (a assertion) ErrorAs(tb testing.TB, err error, target any, msg ...any) bool {
	tb.Helper()
	return a.report(tb, errors.As(err, target), fmt.Sprintf("got error %v (%[1]T), want a %T", err, target), msg)
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
