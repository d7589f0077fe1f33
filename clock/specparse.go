package clock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/internal/check"
)

// macros are names for cron expressions.
var macros = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// ParseSpec returns the schedule that text describes: see [Spec]. An error names the wrong
// part, the value and the range. A spec without any time, such as "0 0 30 2 *", is an error,
// too. [time.LoadLocation] loads the time zones.
func ParseSpec(text string) (*Spec, error) {
	s := &Spec{zone: time.UTC, limits: new(limits)}
	if err := s.parse(strings.Fields(text)); err != nil {
		return nil, check.Errorf("clock: spec %.200q: %w", text, err)
	}
	if *s.limits == noLimits {
		s.limits = nil
	}
	return s, nil
}

func (s *Spec) parse(words []string) error {
	given := map[string]bool{}
	for len(words) > 0 {
		name, value, _ := strings.Cut(words[0], "=")
		if name == "TZ" {
			name = "CRON_TZ"
		}
		known, err := s.option(name, value, words[0] == name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !known {
			break
		}
		if given[name] {
			return fmt.Errorf("%s: given twice (expected: once)", name)
		}
		given[name] = true
		words = words[1:]
	}
	if err := s.expression(words); err != nil {
		return err
	}
	if err := s.anchor(); err != nil {
		return err
	}
	return s.check()
}

// option sets the option of the given name, and reports whether there is one. A flag
// has no "=" and no value.
func (s *Spec) option(name, value string, flag bool) (known bool, err error) {
	switch name {
	case "CRON_TZ":
		s.zone, err = loadZone(value)
	case "START":
		s.limits.start, err = parseTime(value)
	case "END":
		s.limits.end, err = parseTime(value)
	case "JITTER":
		s.limits.jitter, err = parsePeriod(value, 1)
	case "EVERY":
		s.limits.interval, err = parseInterval(value)
	case "SKIP_GAP":
		s.skipGap = true
	case "REPEAT":
		s.repeat = true
	default:
		if !flag {
			err = errors.New("unknown option (expected: CRON_TZ, TZ, SKIP_GAP, REPEAT, EVERY, START, END or JITTER)")
		}
		return false, err
	}
	if isFlag := name == "SKIP_GAP" || name == "REPEAT"; err == nil && isFlag != flag {
		err = fmt.Errorf("=%s (expected: no value)", value)
	}
	return true, err
}

func loadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("%q (expected: a name such as Europe/Berlin, which means the same on every machine)", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q (expected: a name in the IANA time zone database): %w", name, err)
	}
	return zone, nil
}

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	t = t.UTC()
	if err != nil || t.Year() < 2 || t.Year() > 9999 { // The zero time is in the year 1.
		return time.Time{}, fmt.Errorf("%q (expected: a time of the years 2 to 9999, such as 2027-01-31T15:04:05Z)", text)
	}
	return t, nil
}

func parsePeriod(text string, least time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < least {
		return 0, fmt.Errorf("%q (expected: a duration of at least %v)", text, least)
	}
	return d, nil
}

// parseInterval parses the value of EVERY, such as "3d" or "2w".
func parseInterval(text string) (interval, error) {
	days := int64(1)
	count, ok := strings.CutSuffix(text, "d")
	if !ok {
		days = 7
		count, ok = strings.CutSuffix(text, "w")
	}
	n, err := number(count, 1, 1000)
	if err != nil || !ok {
		return interval{}, fmt.Errorf("%q (expected: 1 to 1000 days or weeks, such as 3d or 2w)", text)
	}
	return interval{n: int64(n), days: days}, nil
}

// anchor makes EVERY begin with the day or week of START.
func (s *Spec) anchor() error {
	v := &s.limits.interval
	switch {
	case v.n == 0:
		return nil
	case s.limits.every > 0:
		return errors.New("EVERY: it selects days (expected: a cron expression instead of @every)")
	case s.limits.start.IsZero():
		return errors.New("START: missing (expected: a time in the first day or week of EVERY)")
	}
	s.setAnchor()
	return nil
}

// setAnchor sets the first day of EVERY, in the zone of s.
func (s *Spec) setAnchor() {
	v := &s.limits.interval
	_, offset := s.limits.start.In(s.zone).Zone()
	v.anchor = floorDiv(s.limits.start.Unix()+int64(offset), secondsPerDay)
	if v.days == 7 {
		v.anchor = floorDiv(v.anchor+3, 7)*7 - 3 // 1970 began on a Thursday.
	}
}

// expression parses the words after the options.
func (s *Spec) expression(words []string) (err error) {
	if len(words) == 2 && words[0] == "@every" {
		if s.limits.every, err = parsePeriod(words[1], time.Second); err != nil {
			return fmt.Errorf("@every: %w", err)
		}
		return nil
	}
	if len(words) == 1 {
		if macro, ok := macros[words[0]]; ok {
			words = strings.Fields(macro)
		}
	}
	if len(words) == len(cronFields)-1 {
		words = slices.Insert(words, 0, "0")
	}
	if len(words) != len(cronFields) {
		return fmt.Errorf("expression %q (expected: five or six fields, \"@every\" and a duration, or a name such as @daily)", strings.Join(words, " "))
	}
	var sets, specials [len(cronFields)]set
	for i := range sets {
		if sets[i], specials[i], err = cronFields[i].parse(words[i]); err != nil {
			return err
		}
	}
	s.pack(sets)
	s.nearest, s.nth = specials[dayField], specials[weekdayField]
	return nil
}

// check returns an error if s has no time at all.
func (s *Spec) check() error {
	from, l := time.Unix(0, 0), s.limits
	switch {
	case !l.start.IsZero() && !l.end.IsZero() && l.end.Before(l.start):
		return fmt.Errorf("END: %s (expected: START or later)", l.end.Format(time.RFC3339Nano))
	case !l.start.IsZero():
		from = l.start.Add(-1)
	case !l.end.IsZero():
		from = l.end.Add(-searchSeconds * time.Second)
	}
	if s.Next(from).IsZero() {
		return errors.New("no time matches (expected: at least one from START to END)")
	}
	return nil
}

// String returns the canonical text of s, from which [ParseSpec] returns an equal Spec.
// Options with default values are omitted.
func (s Spec) String() string {
	if s.zone == nil {
		return ""
	}
	var words []string
	add := func(given bool, word string) {
		if given {
			words = append(words, word)
		}
	}
	l := s.limit()
	add(s.zone != time.UTC, "CRON_TZ="+s.zone.String())
	add(s.skipGap, "SKIP_GAP")
	add(s.repeat, "REPEAT")
	add(l.interval.n > 0, "EVERY="+l.interval.String())
	add(!l.start.IsZero(), "START="+l.start.Format(time.RFC3339Nano))
	add(!l.end.IsZero(), "END="+l.end.Format(time.RFC3339Nano))
	add(l.jitter > 0, "JITTER="+l.jitter.String())
	if l.every > 0 {
		return strings.Join(append(words, "@every", l.every.String()), " ")
	}
	specials := [len(cronFields)]set{dayField: s.nearest, weekdayField: s.nth}
	for i, set := range s.sets() {
		add(i > 0 || set != 1, cronFields[i].text(set, specials[i]))
	}
	return strings.Join(words, " ")
}

// String returns the value of EVERY.
func (v interval) String() string {
	if v.days == 7 {
		return fmt.Sprintf("%dw", v.n)
	}
	return fmt.Sprintf("%dd", v.n)
}

// MarshalText implements [encoding.TextMarshaler] with the text of [Spec.String].
func (s Spec) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. Empty text is the zero Spec.
// After an error s is as before.
func (s *Spec) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = Spec{}
		return nil
	}
	parsed, err := ParseSpec(string(text))
	if err != nil {
		return err
	}
	*s = *parsed
	return nil
}
