// Package check validates arguments, options and keys, so that all packages
// accept the same values and report a bad one in the same words.
package check

import (
	"errors"
	"fmt"
	"time"
)

// ErrInvalid is hwt.ErrInvalid. It is here so that package hwt can use this package.
var ErrInvalid = errors.New("invalid argument")

// Errorf is [fmt.Errorf] for an error of an option or argument: it matches ErrInvalid, but its
// text does not mention ErrInvalid.
func Errorf(format string, args ...any) error { return &invalid{fmt.Errorf(format, args...)} }

type invalid struct{ error }

func (e *invalid) Is(target error) bool { return target == ErrInvalid }

func (e *invalid) Unwrap() error { return e.error }

// Invalid returns the error for a value outside the range of a field of pkg's
// Options. expected describes that range.
func Invalid(pkg, field string, value any, expected string) error {
	return InvalidIn(pkg, "Options", field, value, expected)
}

// InvalidIn is Invalid for an options struct of another name.
func InvalidIn(pkg, options, field string, value any, expected string) error {
	return Errorf("%s: %s.%s: %v (expected: %s)", pkg, options, field, value, expected)
}

// OrDefault returns value, or def if value is zero. Any other value outside
// least to most is an error.
func OrDefault[N int | int64](pkg, field string, value, def, least, most N) (N, error) {
	if value == 0 {
		return def, nil
	}
	if value < least || value > most {
		return 0, Invalid(pkg, field, value, fmt.Sprintf("0 for the default, or %d to %d", least, most))
	}
	return value, nil
}

// NotNegative returns an error if value is negative. 0 means the state zero, such as "no limit".
func NotNegative[N int64 | time.Duration](pkg, field string, value N, zero string) error {
	if value >= 0 {
		return nil
	}
	return Invalid(pkg, field, value, "0 for "+zero+", or more")
}

// OrOff returns value, or def if value is zero. A negative value turns the setting
// off: OrOff returns zero.
func OrOff(value, def time.Duration) time.Duration {
	if value == 0 {
		return def
	}
	return max(value, 0)
}

// NotTypedNil returns an error if value is an interface that holds a nil pointer,
// function, map, slice or channel. A nil interface passes: it selects the default.
// expected describes the range, including the default.
func NotTypedNil(pkg, field string, value any, expected string) error {
	if value == nil || !IsNil(value) {
		return nil
	}
	return Invalid(pkg, field, fmt.Sprintf("(%T)(nil)", value), expected)
}

// NotNil returns an error if an argument of pkg's function is nil by [IsNil].
func NotNil(pkg, function, argument string, value any, expected string) error {
	if !IsNil(value) {
		return nil
	}
	return Errorf("%s: %s: %s is nil (expected: %s)", pkg, function, argument, expected)
}

// Positive returns an error if an argument of pkg's function is not positive.
func Positive(pkg, function, argument string, d time.Duration) error {
	if d > 0 {
		return nil
	}
	return Errorf("%s: %s: %s is %v (expected: a positive duration)", pkg, function, argument, d)
}
