package main

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ranged is a flag whose value must be within a range. It implements flag.Value. Package
// flag adds the flag and the value to the errors of Set. The default is *value.
type ranged[T cmp.Ordered] struct {
	value    *T
	min, max T
	parse    func(string) (T, error)
}

// String returns the value, or "" for the zero flag, which package flag compares it with.
func (r ranged[T]) String() string {
	if r.value == nil {
		return ""
	}
	return fmt.Sprint(*r.value)
}

// Set parses and checks s.
func (r ranged[T]) Set(s string) error {
	v, err := r.parse(s)
	if err != nil || !(r.min <= v && v <= r.max) { // true for NaN
		return fmt.Errorf("must be from %v to %v", r.min, r.max)
	}
	*r.value = v
	return nil
}

// number adds a flag for a whole number.
func number(f *flag.FlagSet, value *int, min, max int, name, usage string) {
	f.Var(ranged[int]{value, min, max, strconv.Atoi}, name, usage)
}

// duration adds a flag for a duration.
func duration(f *flag.FlagSet, value *time.Duration, min, max time.Duration, name, usage string) {
	f.Var(ranged[time.Duration]{value, min, max, time.ParseDuration}, name, usage)
}

// percent adds a flag for a percentage.
func percent(f *flag.FlagSet, value *float64, name, usage string) {
	f.Var(ranged[float64]{value, 0, 100, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }}, name, usage)
}

// seed adds the flag for the seed of random numbers.
func seed(f *flag.FlagSet, value *uint64) {
	f.Var(ranged[uint64]{value, 0, math.MaxUint64, func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) }},
		"seed", "`number` that determines the random numbers")
}

// choice is a flag for one of a few names, in any case.
type choice struct {
	value *string
	names []string
}

// String returns the name, or "" for the zero flag.
func (c choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

// Set checks and sets the name.
func (c choice) Set(s string) error {
	name := strings.ToLower(s)
	if !slices.Contains(c.names, name) {
		return fmt.Errorf("must be one of %v", c.names)
	}
	*c.value = name
	return nil
}
