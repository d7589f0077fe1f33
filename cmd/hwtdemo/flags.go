package main

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/text"
)

// The flags of this file implement flag.Value. The errors of Set name the allowed
// values; package flag adds the flag and the value. The default is *value.

// ranged is a flag whose value must be within a range.
type ranged[T cmp.Ordered] struct {
	value    *T
	kind     string // for the help, such as "duration"
	min, max T
	parse    func(string) (T, error)
}

// String returns the value in the form of the command line.
func (r ranged[T]) String() string { return text.Value(*r.value) }

// Type returns the kind of value.
func (r ranged[T]) Type() string { return r.kind }

// Set parses and checks s.
func (r ranged[T]) Set(s string) error {
	v, err := r.parse(s)
	if err != nil || !(r.min <= v && v <= r.max) { // true for NaN
		return fmt.Errorf("must be a %s from %s to %s", r.kind, text.Value(r.min), text.Value(r.max))
	}
	*r.value = v
	return nil
}

// number is a flag for a whole number.
func number(value *int, min, max int) ranged[int] {
	return ranged[int]{value, "number", min, max, strconv.Atoi}
}

// duration is a flag for a duration.
func duration(value *time.Duration, min, max time.Duration) ranged[time.Duration] {
	return ranged[time.Duration]{value, "duration", min, max, time.ParseDuration}
}

// percent is a flag for a percentage, with or without its sign.
func percent(value *float64) ranged[float64] {
	return ranged[float64]{value, "percentage", 0, 100, func(s string) (float64, error) {
		return strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	}}
}

// seed is a flag for a seed of random numbers.
func seed(value *uint64) ranged[uint64] {
	return ranged[uint64]{value, "number", 0, math.MaxUint64, func(s string) (uint64, error) {
		return strconv.ParseUint(s, 10, 64)
	}}
}

// address is a flag for the address of a listener.
type address struct{ value *string }

// String returns the address.
func (a address) String() string { return *a.value }

// Type returns the kind of value.
func (a address) Type() string { return "address" }

// Set checks the form of the address, and its port.
func (a address) Set(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	*a.value = s
	return err
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
func (c choice[T]) Set(s string) error {
	name := T(strings.ToLower(s))
	if !slices.Contains(c.names, name) {
		last := len(c.names) - 1
		return fmt.Errorf("must be %s or %s", strings.ReplaceAll(strings.Trim(fmt.Sprint(c.names[:last]), "[]"), " ", ", "), c.names[last])
	}
	*c.value = name
	return nil
}
