package cli

import (
	"math"
	"strconv"
	"time"
)

// Count formats n with commas between the thousands.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Number formats v with three digits and with commas between the thousands: 0.0123,
// 4.56, 789 or 1,234. Below 0.0001 it returns 0.
func Number(v float64) string {
	if math.Abs(v) >= 999.5 {
		return Count(int64(math.Round(v)))
	}
	if math.Abs(v) < 0.0001 {
		v = 0
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Duration formats d with about three digits, such as 612µs, 1.24ms or 5.93s. From a
// minute on it rounds to seconds.
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(-d)
	}
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	unit := time.Nanosecond
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

// Rate formats the number of operations per second with three digits: 812, 45.1 thousand
// or 11.2 million.
func Rate(operations int64, taken time.Duration) string {
	if operations <= 0 || taken <= 0 {
		return "n/a"
	}
	rate := float64(operations) / taken.Seconds()
	switch {
	case rate >= 1e6:
		return strconv.FormatFloat(rate/1e6, 'g', 3, 64) + " million"
	case rate >= 1e3:
		return strconv.FormatFloat(rate/1e3, 'g', 3, 64) + " thousand"
	}
	return strconv.FormatFloat(rate, 'g', 3, 64)
}

// Plural formats n and thing, with an s unless n is 1.
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Count(int64(n)) + " " + thing + "s"
}
