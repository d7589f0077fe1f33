package clock

import (
	"errors"
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
	names       []string // Names of the values from first on, or their first three letters. Nil if there are only numbers.
	wildSteps   bool     // "*/n" has the star.
}

// The places of fields in cronFields.
const (
	hourField    = 2
	dayField     = 3
	weekdayField = 5
)

// The order in a cron expression. Without seconds it begins with minute.
var cronFields = [...]field{
	{name: "second", last: 59},
	{name: "minute", last: 59},
	{name: "hour", last: 23, wildSteps: true},
	{name: "day of month", first: 1, last: 31},
	{name: "month", first: 1, last: 12, names: []string{"january", "february", "march", "april", "may", "june", "july",
		"august", "september", "october", "november", "december"}},
	{name: "day of week", last: 6, names: []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}},
}

// parse returns the values in text, a list of elements separated by commas. The special
// elements belong to day of month, as cron.nearest, or to day of week, as cron.nth. The errors of
// the functions below are expectations.
func (f *field) parse(text string) (s, special set, err error) {
	for element := range strings.SplitSeq(text, ",") {
		lower := strings.ToLower(element)
		part, err := f.special(lower)
		special |= part
		if part == 0 && err == nil {
			part, err = f.element(lower)
			s |= part
		}
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %q (expected: %w)", f.name, element, err)
		}
	}
	return s, special, nil
}

// special returns the set of a special element, or 0 if text is not one.
func (f *field) special(text string) (set, error) {
	switch f {
	case &cronFields[dayField]:
		return f.nearest(text)
	case &cronFields[weekdayField]:
		return f.nth(text)
	}
	return 0, nil
}

// nearest returns the set of "L", "LW" or "15W".
func (f *field) nearest(text string) (set, error) {
	switch text {
	case "l":
		return 1 << lastDay, nil
	case "lw":
		return 1 << lastWorkday, nil
	}
	day, ok := strings.CutSuffix(text, "w")
	if !ok {
		return 0, nil
	}
	n, err := f.value(day)
	return 1 << n, err
}

// nth returns the set of "5L" or "5#3".
func (f *field) nth(text string) (set, error) {
	name, count, counted := strings.Cut(text, "#")
	day, last := strings.CutSuffix(name, "l")
	if !counted && !last || counted && last {
		return 0, nil
	}
	weekday, err := f.value(day)
	k := 0
	if counted && err == nil {
		if k, err = number(count, 1, 5); err != nil {
			err = fmt.Errorf("%w after #", err)
		}
	}
	return 1 << (7*k + weekday%7), err
}

// element returns the values in "*", "n" or "n-m", with or without "/step".
func (f *field) element(text string) (set, error) {
	values, stepText, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		var err error
		if step, err = number(stepText, 1, f.last-f.first); err != nil {
			return 0, fmt.Errorf("a step of %w", err)
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
		if last, err = f.value(to); first > 0 && strings.HasPrefix(to, "sun") {
			last = 7 // "fri-sun"
		}
	}
	switch {
	case err != nil:
		return 0, err
	case last < first:
		return 0, errors.New("a range in ascending order")
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
	named := func(name string) bool { return text == name || text == name[:3] }
	if i := slices.IndexFunc(f.names, named); i >= 0 {
		return f.first + i, nil
	}
	last := f.last
	if last == 6 {
		last = 7
	}
	return number(text, f.first, last)
}

func number(text string, first, last int) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || int(n) < first || int(n) > last {
		return 0, fmt.Errorf("%d to %d", first, last)
	}
	return int(n), nil
}

// text returns the canonical text of s and special. parse turns the text back into them.
func (f *field) text(s, special set) string {
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
	return strings.Join(append(elements, f.specials(special)...), ",")
}

// specials returns the texts of special elements.
func (f *field) specials(special set) (texts []string) {
	for ; special != 0; special &= special - 1 {
		switch bit := bits.TrailingZeros64(uint64(special)); {
		case f.first == 0 && bit < 7:
			texts = append(texts, fmt.Sprintf("%dL", bit))
		case f.first == 0:
			texts = append(texts, fmt.Sprintf("%d#%d", bit%7, bit/7))
		case bit == lastDay:
			texts = append(texts, "L")
		case bit == lastWorkday:
			texts = append(texts, "LW")
		default:
			texts = append(texts, fmt.Sprintf("%dW", bit))
		}
	}
	return texts
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
