package cron

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParseOption is a part of the expressions that a [Parser] accepts.
type ParseOption int

// The parts. A field that is not in the options of a parser has its default: 0 for the
// time of day, and "*" for days.
const (
	Second         ParseOption = 1 << iota // Seconds.
	SecondOptional                         // Seconds, which may be left out.
	Minute                                 // Minutes.
	Hour                                   // Hours.
	Dom                                    // Day of month.
	Month                                  // Month.
	Dow                                    // Day of week.
	DowOptional                            // Day of week, which may be left out.
	Descriptor                             // Names such as "@monthly", and "@every 5m".
)

var (
	places   = []ParseOption{Second, Minute, Hour, Dom, Month, Dow}
	defaults = []string{"0", "0", "0", "*", "*", "*"}
	ranges   = []bounds{seconds, minutes, hours, dom, months, dow}
)

// Parser parses expressions of certain fields.
type Parser struct{ options ParseOption }

// NewParser returns a Parser of expressions with the given parts. NewParser panics if more
// than one part is optional.
func NewParser(options ParseOption) Parser {
	if options&DowOptional != 0 && options&SecondOptional != 0 {
		panic("multiple optionals may not be configured")
	}
	return Parser{options}
}

var standardParser = NewParser(Minute | Hour | Dom | Month | Dow | Descriptor)

// ParseStandard returns the schedule of an expression of five fields, minute, hour, day of
// month, month and day of week, or of a name such as "@midnight" or "@every 1h30m".
func ParseStandard(standardSpec string) (Schedule, error) { return standardParser.Parse(standardSpec) }

// Parse returns the schedule of spec. spec may begin with a time zone, as in
// "CRON_TZ=Europe/Berlin 0 6 * * *".
func (p Parser) Parse(spec string) (Schedule, error) {
	if spec == "" {
		return nil, errors.New("empty spec string")
	}
	zone, spec, err := cutZone(spec)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(spec, "@") {
		if p.options&Descriptor == 0 {
			return nil, fmt.Errorf("parser does not accept descriptors: %v", spec)
		}
		return parseDescriptor(spec, zone)
	}
	return p.parseFields(strings.Fields(spec), zone)
}

// cutZone returns the time zone at the beginning of spec, time.Local by default, and the
// rest.
func cutZone(spec string) (zone *time.Location, rest string, err error) {
	name, ok := strings.CutPrefix(spec, "TZ=")
	if !ok {
		name, ok = strings.CutPrefix(spec, "CRON_TZ=")
	}
	if !ok {
		return time.Local, spec, nil
	}
	name, rest, ok = strings.Cut(name, " ")
	if !ok {
		return nil, "", fmt.Errorf("expected an expression after the time zone: %s", spec)
	}
	if zone, err = time.LoadLocation(name); err != nil {
		return nil, "", fmt.Errorf("provided bad location %s: %v", name, err)
	}
	return zone, strings.TrimSpace(rest), nil
}

// parseFields returns the schedule of the fields of p.
func (p Parser) parseFields(fields []string, zone *time.Location) (Schedule, error) {
	fields, err := normalizeFields(fields, p.options)
	if err != nil {
		return nil, err
	}
	s := &SpecSchedule{Location: zone}
	for i, to := range []*uint64{&s.Second, &s.Minute, &s.Hour, &s.Dom, &s.Month, &s.Dow} {
		if *to, err = getField(fields[i], ranges[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// normalizeFields returns all six fields, with defaults for those that are not in the
// options or left out.
func normalizeFields(fields []string, options ParseOption) ([]string, error) {
	optional := options & (SecondOptional | DowOptional)
	switch optional {
	case SecondOptional:
		options |= Second
	case DowOptional:
		options |= Dow
	case SecondOptional | DowOptional:
		return nil, errors.New("multiple optionals may not be configured")
	}
	most := 0
	for _, place := range places {
		if options&place != 0 {
			most++
		}
	}
	least := most
	if optional != 0 {
		least--
	}
	switch n := len(fields); {
	case n >= least && n <= most:
	case least == most:
		return nil, fmt.Errorf("expected exactly %d fields, found %d: %s", least, n, fields)
	default:
		return nil, fmt.Errorf("expected %d to %d fields, found %d: %s", least, most, n, fields)
	}
	if len(fields) < most && optional == SecondOptional {
		fields = slices.Insert(slices.Clone(fields), 0, defaults[0])
	}
	all := slices.Clone(defaults)
	for i, place := range places {
		if options&place != 0 && len(fields) > 0 {
			all[i], fields = fields[0], fields[1:]
		}
	}
	return all, nil
}

// getField returns the values of a list of ranges, separated by commas.
func getField(field string, r bounds) (bits uint64, err error) {
	for _, expr := range strings.FieldsFunc(field, func(r rune) bool { return r == ',' }) {
		bit, err := getRange(expr, r)
		if err != nil {
			return bits, err
		}
		bits |= bit
	}
	return bits, nil
}

// getRange returns the values of "*", "?", "n" or "n-m", with or without "/step".
func getRange(expr string, r bounds) (uint64, error) {
	values, stepText, stepped := strings.Cut(expr, "/")
	low, high, ranged := strings.Cut(values, "-")
	switch {
	case strings.Contains(stepText, "/"):
		return 0, fmt.Errorf("too many slashes: %s", expr)
	case strings.Contains(high, "-"):
		return 0, fmt.Errorf("too many hyphens: %s", expr)
	}
	begin, end, step, star := r.min, r.max, uint(1), uint64(0)
	var err error
	if low == "*" || low == "?" {
		star = starBit
	} else if begin, end, err = limits(low, high, ranged, r); err != nil {
		return 0, fmt.Errorf("%w: %s", err, expr)
	}
	if stepped {
		if step, err = mustParseInt(stepText); err != nil {
			return 0, fmt.Errorf("%w: %s", err, expr)
		}
		if !ranged {
			end = r.max
		}
		if step > 1 {
			star = 0
		}
	}
	switch {
	case begin < r.min:
		return 0, fmt.Errorf("beginning of range (%d) below minimum (%d): %s", begin, r.min, expr)
	case end > r.max:
		return 0, fmt.Errorf("end of range (%d) above maximum (%d): %s", end, r.max, expr)
	case begin > end:
		return 0, fmt.Errorf("beginning of range (%d) beyond end of range (%d): %s", begin, end, expr)
	case step == 0:
		return 0, fmt.Errorf("step of range should be a positive number: %s", expr)
	}
	return getBits(begin, end, step) | star, nil
}

// limits returns the first and the last value of "n" or "n-m".
func limits(low, high string, ranged bool, r bounds) (begin, end uint, err error) {
	if begin, err = parseIntOrName(low, r.names); err != nil || !ranged {
		return begin, begin, err
	}
	end, err = parseIntOrName(high, r.names)
	return begin, end, err
}

// parseIntOrName returns the value of a name or a number.
func parseIntOrName(expr string, names map[string]uint) (uint, error) {
	if n, ok := names[strings.ToLower(expr)]; ok {
		return n, nil
	}
	return mustParseInt(expr)
}

// mustParseInt returns the value of a number that is not negative.
func mustParseInt(expr string) (uint, error) {
	n, err := strconv.Atoi(expr)
	if err != nil {
		return 0, fmt.Errorf("failed to parse int from %s: %s", expr, err)
	}
	if n < 0 {
		return 0, fmt.Errorf("negative number (%d) not allowed: %s", n, expr)
	}
	return uint(n), nil
}

// getBits returns every step-th value from min to max.
func getBits(min, max, step uint) (bits uint64) {
	for n := uint64(min); n <= uint64(max); n += uint64(step) {
		bits |= 1 << n
	}
	return bits
}

// all returns all values and the wildcard.
//
//lint:ignore U1000 robfig/cron's own tests call it.
func all(r bounds) uint64 { return getBits(r.min, r.max, 1) | starBit }

// descriptors are names for expressions with seconds.
var descriptors = map[string]string{
	"@yearly":   "0 0 0 1 1 *",
	"@annually": "0 0 0 1 1 *",
	"@monthly":  "0 0 0 1 * *",
	"@weekly":   "0 0 0 * * 0",
	"@daily":    "0 0 0 * * *",
	"@midnight": "0 0 0 * * *",
	"@hourly":   "0 0 * * * *",
}

// parseDescriptor returns the schedule of a name or an "@every".
func parseDescriptor(descriptor string, zone *time.Location) (Schedule, error) {
	if expression, ok := descriptors[descriptor]; ok {
		return Parser{Second | Minute | Hour | Dom | Month | Dow}.parseFields(strings.Fields(expression), zone)
	}
	period, ok := strings.CutPrefix(descriptor, "@every ")
	if !ok {
		return nil, fmt.Errorf("unrecognized descriptor: %s", descriptor)
	}
	duration, err := time.ParseDuration(period)
	if err != nil {
		return nil, fmt.Errorf("failed to parse duration %s: %s", descriptor, err)
	}
	return Every(duration), nil
}
