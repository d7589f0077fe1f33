package clock

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// set holds the values of one field of a cron expression: bit n stands for n.
type set uint64

// star marks a field without restriction. In the hour field it also marks "*/n".
const star set = 1 << 63

func (s set) has(value int) bool { return s>>value&1 != 0 }

// ceil returns the least member that is at least value. If there is no such member,
// it returns the least of all and true.
func (s set) ceil(value int) (member int, wraps bool) {
	s &^= star
	if rest := s >> value << value; rest != 0 {
		return bits.TrailingZeros64(uint64(rest)), false
	}
	return bits.TrailingZeros64(uint64(s)), true
}

// steps returns every step-th value from first to last.
func steps(first, last, step int) (s set) {
	for ; first <= last; first += step {
		s |= 1 << first
	}
	return s
}

// field is the syntax of one field of a cron expression.
type field struct {
	name        string
	first, last int
	names       []string // Names of the values from first on. Nil if there are only numbers.
	wildSteps   bool     // "*/n" has the star.
}

// The order in a cron expression. Without seconds it begins with minute.
var cronFields = [...]field{
	{name: "second", last: 59},
	{name: "minute", last: 59},
	{name: "hour", last: 23, wildSteps: true},
	{name: "day of month", first: 1, last: 31},
	{name: "month", first: 1, last: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day of week", last: 6, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// parse returns the values in text, a list of elements separated by commas.
func (f *field) parse(text string) (s set, err error) {
	for element := range strings.SplitSeq(text, ",") {
		part, err := f.element(element)
		if err != nil {
			return 0, err
		}
		s |= part
	}
	return s, nil
}

// element returns the values in "*", "n" or "n-m", with or without "/step".
func (f *field) element(text string) (set, error) {
	values, stepText, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		var err error
		if step, err = number(stepText, 1, f.last-f.first); err != nil {
			return 0, fmt.Errorf("step of %s: %w", f.name, err)
		}
	}
	if values == "*" || values == "?" {
		s := steps(f.first, f.last, step)
		if step == 1 || f.wildSteps {
			s |= star
		}
		return s, nil
	}
	from, to, ranged := strings.Cut(values, "-")
	first, err := f.value(from)
	last := first
	if err == nil && ranged {
		last, err = f.value(to)
	}
	switch {
	case err != nil:
		return 0, err
	case last < first:
		return 0, fmt.Errorf("%s: %q (expected: a range in ascending order)", f.name, values)
	case stepped && !ranged:
		last = max(first, f.last)
	}
	return f.fold(steps(first, last, step)), nil
}

// fold turns the Sunday 7 into 0.
func (f *field) fold(s set) set {
	if f.last == 6 && s.has(7) {
		return s&^(1<<7) | 1
	}
	return s
}

// value returns the number or the name in text.
func (f *field) value(text string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.first + i, nil
	}
	last := f.last
	if last == 6 {
		last = 7
	}
	value, err := number(text, f.first, last)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.name, err)
	}
	return value, nil
}

func number(text string, first, last int) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || int(n) < first || int(n) > last {
		return 0, fmt.Errorf("%q (expected: %d to %d)", text, first, last)
	}
	return int(n), nil
}

// text returns the canonical text of s, which parse turns back into s.
func (f *field) text(s set) string {
	var elements []string
	rest := s &^ star
	if step := f.step(s); step > 0 {
		elements = append(elements, wildcard(step))
		rest &^= steps(f.first, f.last, step)
	}
	for rest != 0 {
		first := bits.TrailingZeros64(uint64(rest))
		last := first
		for rest.has(last + 1) {
			last++
		}
		if last == first+1 {
			last = first // "1,2" instead of "1-2"
		}
		elements = append(elements, span(first, last))
		rest &^= steps(first, last, 1)
	}
	return strings.Join(elements, ",")
}

// step returns the step of the wildcard that the text of s begins with, or 0 if it
// begins with a number.
func (f *field) step(s set) int {
	for step := 1; step <= f.last-f.first; step++ {
		wild := steps(f.first, f.last, step)
		if s&star != 0 && wild&^s == 0 {
			return step
		}
		if !f.wildSteps && step > 1 && wild == s && bits.OnesCount64(uint64(s)) > 2 {
			return step
		}
	}
	return 0
}

func wildcard(step int) string {
	if step == 1 {
		return "*"
	}
	return "*/" + strconv.Itoa(step)
}

func span(first, last int) string {
	if first == last {
		return strconv.Itoa(first)
	}
	return strconv.Itoa(first) + "-" + strconv.Itoa(last)
}
