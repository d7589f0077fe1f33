package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/internal/cli"
)

// The flags of this file implement flag.Value. The errors of Set name the allowed
// values; package flag adds the flag and the value. The default is *value.

// ranged is a flag whose value must be within a range.
type ranged[T cmp.Ordered] struct {
	value    *T
	kind     string // for the help, such as "duration"
	min, max T
	parse    func(string) (T, error)
	show     func(T) string
}

// String returns the value in the form of the command line.
func (r ranged[T]) String() string { return fmt.Sprint(*r.value) }

// Type returns the kind of value.
func (r ranged[T]) Type() string { return r.kind }

// Set parses and checks text.
func (r ranged[T]) Set(text string) error {
	v, err := r.parse(text)
	if err != nil || !(r.min <= v && v <= r.max) { // true for NaN
		return fmt.Errorf("must be a %s from %s to %s", r.kind, r.show(r.min), r.show(r.max))
	}
	*r.value = v
	return nil
}

// number is a flag for a whole number.
func number(value *int, min, max int) ranged[int] {
	return ranged[int]{
		value: value, kind: "number", min: min, max: max,
		parse: strconv.Atoi,
		show:  func(n int) string { return cli.Count(int64(n)) },
	}
}

// duration is a flag for a duration.
func duration(value *time.Duration, min, max time.Duration) ranged[time.Duration] {
	return ranged[time.Duration]{
		value: value, kind: "duration", min: min, max: max,
		parse: time.ParseDuration,
		show:  time.Duration.String,
	}
}

// percent is a flag for a percentage, with or without its sign.
func percent(value *float64) ranged[float64] {
	return ranged[float64]{
		value: value, kind: "percentage", min: 0, max: 100,
		parse: func(s string) (float64, error) { return strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64) },
		show:  func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) },
	}
}

// seed is a flag for a seed of random numbers.
func seed(value *uint64) ranged[uint64] {
	return ranged[uint64]{
		value: value, kind: "number", min: 0, max: 1<<64 - 1,
		parse: func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) },
		show:  func(n uint64) string { return strconv.FormatUint(n, 10) },
	}
}

// choice is a flag for one of a few names, in any case.
type choice[T ~string] struct {
	value *T
	names []T
}

// String returns the name.
func (c choice[T]) String() string { return string(*c.value) }

// Type returns the kind of value.
func (c choice[T]) Type() string { return "name" }

// Set checks and sets the name.
func (c choice[T]) Set(text string) error {
	name := T(strings.ToLower(text))
	if !slices.Contains(c.names, name) {
		return fmt.Errorf("must be %s", c.list())
	}
	*c.value = name
	return nil
}

// list returns the names in the form "a, b or c".
func (c choice[T]) list() (list string) {
	for i, name := range c.names {
		switch {
		case i == 0:
		case i == len(c.names)-1:
			list += " or "
		default:
			list += ", "
		}
		list += string(name)
	}
	return list
}
