// Package settings checks the fields of the packages' Options and the arguments of
// their constructors, so that they all have the same rules and the same words for a
// value they refuse.
package settings

import (
	"fmt"
	"time"

	"github.com/hashedwheel/hwt/internal/isnil"
)

// Refuse returns the error for a value outside the range of a field of pkg's
// Options. expected names that range.
func Refuse(pkg, field string, value any, expected string) error {
	return RefuseOf(pkg, "Options", field, value, expected)
}

// RefuseOf is Refuse for a struct of options that has another name.
func RefuseOf(pkg, options, field string, value any, expected string) error {
	return fmt.Errorf("%s: %s.%s: %v (expected: %s)", pkg, options, field, value, expected)
}

// OrDefault returns value, or def if it is zero. A value that is neither zero
// nor from least to most is an error.
func OrDefault[N int | int64](pkg, field string, value, def, least, most N) (N, error) {
	if value == 0 {
		return def, nil
	}
	if value < least || value > most {
		return 0, Refuse(pkg, field, value, fmt.Sprintf("0 for the default, or %d to %d", least, most))
	}
	return value, nil
}

// OrOff returns value, or def if it is zero, or zero if it is negative, which
// turns the setting off.
func OrOff(value, def time.Duration) time.Duration {
	if value == 0 {
		return def
	}
	return max(value, 0)
}

// NotTypedNil returns an error if value is an interface that holds a nil
// pointer, function, map, slice or channel. An interface that is nil itself
// passes: it stands for the default, which expected names together with the range.
func NotTypedNil(pkg, field string, value any, expected string) error {
	if value == nil || !isnil.Of(value) {
		return nil
	}
	return Refuse(pkg, field, fmt.Sprintf("(%T)(nil)", value), expected)
}

// NotNil returns an error if value, an argument of a function of pkg, is nil or an
// interface that holds a nil pointer, function, map, slice or channel.
func NotNil(pkg, function, argument string, value any, expected string) error {
	if !isnil.Of(value) {
		return nil
	}
	return fmt.Errorf("%s: %s: %s is nil (expected: %s)", pkg, function, argument, expected)
}

// Positive returns an error if d, an argument of a function of pkg, is not positive.
func Positive(pkg, function, argument string, d time.Duration) error {
	if d > 0 {
		return nil
	}
	return fmt.Errorf("%s: %s: %s is %v (expected: a positive duration)", pkg, function, argument, d)
}
