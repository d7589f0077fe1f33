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

// ParseSpec returns the schedule that text describes: see [Spec]. An error names the
// part that is wrong, its value and its range. A spec without any time, such as
// "0 0 30 2 *", is an error, too. Time zones are those of [time.LoadLocation].
func ParseSpec(text string) (*Spec, error) {
	s := &Spec{zone: time.UTC}
	if err := s.parse(strings.Fields(text)); err != nil {
		return nil, check.Errorf("clock: spec %.200q: %w", text, err)
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
	return s.check()
}

// option sets the option of the given name, and reports whether there is one. A flag
// has no "=" and no value.
func (s *Spec) option(name, value string, flag bool) (known bool, err error) {
	switch name {
	case "CRON_TZ":
		s.zone, err = loadZone(value)
	case "START":
		s.start, err = parseTime(value)
	case "END":
		s.end, err = parseTime(value)
	case "JITTER":
		s.jitter, err = parsePeriod(value, 1)
	case "SKIP_GAP":
		s.skipGap = true
	case "REPEAT":
		s.repeat = true
	default:
		if !flag {
			err = errors.New("unknown option (expected: CRON_TZ, TZ, SKIP_GAP, REPEAT, START, END or JITTER)")
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

// expression parses the words after the options.
func (s *Spec) expression(words []string) (err error) {
	if len(words) == 2 && words[0] == "@every" {
		if s.every, err = parsePeriod(words[1], time.Second); err != nil {
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
	for i, set := range s.cron.sets() {
		if *set, err = cronFields[i].parse(words[i]); err != nil {
			return err
		}
	}
	return nil
}

// sets returns the fields in the order of cronFields.
func (c *cron) sets() [len(cronFields)]*set {
	return [...]*set{&c.second, &c.minute, &c.hour, &c.day, &c.month, &c.weekday}
}

// check returns an error if s has no time at all.
func (s *Spec) check() error {
	from := time.Unix(0, 0)
	switch {
	case !s.start.IsZero() && !s.end.IsZero() && s.end.Before(s.start):
		return fmt.Errorf("END: %s (expected: START or later)", s.end.Format(time.RFC3339Nano))
	case !s.start.IsZero():
		from = s.start.Add(-1)
	case !s.end.IsZero():
		from = s.end.Add(-searchSeconds * time.Second)
	}
	if s.Next(from).IsZero() {
		return errors.New("no time matches (expected: at least one from START to END)")
	}
	return nil
}

// String returns the canonical text of s, from which [ParseSpec] returns an equal
// Spec. It names only options that differ from their default.
func (s *Spec) String() string {
	if s == nil || s.zone == nil {
		return ""
	}
	var words []string
	add := func(given bool, word string) {
		if given {
			words = append(words, word)
		}
	}
	add(s.zone != time.UTC, "CRON_TZ="+s.zone.String())
	add(s.skipGap, "SKIP_GAP")
	add(s.repeat, "REPEAT")
	add(!s.start.IsZero(), "START="+s.start.Format(time.RFC3339Nano))
	add(!s.end.IsZero(), "END="+s.end.Format(time.RFC3339Nano))
	add(s.jitter > 0, "JITTER="+s.jitter.String())
	if s.every > 0 {
		return strings.Join(append(words, "@every", s.every.String()), " ")
	}
	for i, set := range s.cron.sets() {
		add(i > 0 || *set != 1, cronFields[i].text(*set))
	}
	return strings.Join(words, " ")
}

// MarshalText implements [encoding.TextMarshaler] with the text of [Spec.String].
func (s *Spec) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

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
