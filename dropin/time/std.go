package time

// This file has the names of package time that need no timer.

import "time"

// ParseError is [time.ParseError].
type ParseError = time.ParseError

// Time is [time.Time].
type Time = time.Time

// Month is [time.Month].
type Month = time.Month

// Weekday is [time.Weekday].
type Weekday = time.Weekday

// Duration is [time.Duration].
type Duration = time.Duration

// Location is [time.Location].
type Location = time.Location

// As in package time.
const (
	Layout      = time.Layout
	ANSIC       = time.ANSIC
	UnixDate    = time.UnixDate
	RubyDate    = time.RubyDate
	RFC822      = time.RFC822
	RFC822Z     = time.RFC822Z
	RFC850      = time.RFC850
	RFC1123     = time.RFC1123
	RFC1123Z    = time.RFC1123Z
	RFC3339     = time.RFC3339
	RFC3339Nano = time.RFC3339Nano
	Kitchen     = time.Kitchen
	Stamp       = time.Stamp
	StampMilli  = time.StampMilli
	StampMicro  = time.StampMicro
	StampNano   = time.StampNano
	DateTime    = time.DateTime
	DateOnly    = time.DateOnly
	TimeOnly    = time.TimeOnly
	January     = time.January
	February    = time.February
	March       = time.March
	April       = time.April
	May         = time.May
	June        = time.June
	July        = time.July
	August      = time.August
	September   = time.September
	October     = time.October
	November    = time.November
	December    = time.December
	Sunday      = time.Sunday
	Monday      = time.Monday
	Tuesday     = time.Tuesday
	Wednesday   = time.Wednesday
	Thursday    = time.Thursday
	Friday      = time.Friday
	Saturday    = time.Saturday
	Nanosecond  = time.Nanosecond
	Microsecond = time.Microsecond
	Millisecond = time.Millisecond
	Second      = time.Second
	Minute      = time.Minute
	Hour        = time.Hour
)

// As in package time.
var (
	UTC   = time.UTC
	Local = time.Local
)

// Parse calls [time.Parse].
func Parse(layout, value string) (Time, error) { return time.Parse(layout, value) }

// ParseInLocation calls [time.ParseInLocation].
func ParseInLocation(layout, value string, loc *Location) (Time, error) {
	return time.ParseInLocation(layout, value, loc)
}

// ParseDuration calls [time.ParseDuration].
func ParseDuration(s string) (Duration, error) { return time.ParseDuration(s) }

// Since calls [time.Since].
func Since(t Time) Duration { return time.Since(t) }

// Until calls [time.Until].
func Until(t Time) Duration { return time.Until(t) }

// Now calls [time.Now].
func Now() Time { return time.Now() }

// Unix calls [time.Unix].
func Unix(sec int64, nsec int64) Time { return time.Unix(sec, nsec) }

// UnixMilli calls [time.UnixMilli].
func UnixMilli(msec int64) Time { return time.UnixMilli(msec) }

// UnixMicro calls [time.UnixMicro].
func UnixMicro(usec int64) Time { return time.UnixMicro(usec) }

// Date calls [time.Date].
func Date(year int, month Month, day, hour, min, sec, nsec int, loc *Location) Time {
	return time.Date(year, month, day, hour, min, sec, nsec, loc)
}

// FixedZone calls [time.FixedZone].
func FixedZone(name string, offset int) *Location { return time.FixedZone(name, offset) }

// LoadLocation calls [time.LoadLocation].
func LoadLocation(name string) (*Location, error) { return time.LoadLocation(name) }

// LoadLocationFromTZData calls [time.LoadLocationFromTZData].
func LoadLocationFromTZData(name string, data []byte) (*Location, error) {
	return time.LoadLocationFromTZData(name, data)
}
