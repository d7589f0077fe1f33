package hwt_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
)

func TestJitterStaysInItsRange(t *testing.T) {
	for name, c := range map[string]struct {
		d        time.Duration
		fraction float64
		least    time.Duration
	}{
		"tenth":            {time.Minute, 0.1, 54 * time.Second},
		"all":              {time.Minute, 1, 0},
		"more than all":    {time.Minute, 7, 0},
		"none":             {time.Minute, 0, time.Minute},
		"negative":         {time.Minute, -1, time.Minute},
		"not a number":     {time.Minute, math.NaN(), time.Minute},
		"infinite":         {time.Minute, math.Inf(1), 0},
		"one nanosecond":   {1, 1, 0},
		"zero":             {0, 1, 0},
		"negative delay":   {-time.Second, 1, -time.Second},
		"almost never":     {math.MaxInt64 - 1, 1, 0},
		"almost all of it": {math.MaxInt64 - 1, 1 - 1e-16, 0},
		"never":            {math.MaxInt64, 1, math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			least, most := time.Duration(math.MaxInt64), time.Duration(math.MinInt64)
			for range 2000 {
				d := hwt.Jitter(c.d, c.fraction)
				least, most = min(least, d), max(most, d)
			}
			assert.GreaterOrEqual(t, least, c.least)
			assert.LessOrEqual(t, most, c.d)
			assert.LessOrEqual(t, float64(least-c.least), 0.1*float64(c.d-c.least), "the range is used")
			assert.LessOrEqual(t, float64(c.d-most), 0.1*float64(c.d-c.least), "the range is used")
		})
	}
}

func TestBackoffDoublesUpToItsLimit(t *testing.T) {
	for name, c := range map[string]struct {
		backoff hwt.Backoff
		failed  int
		most    time.Duration
	}{
		"first":           {hwt.Backoff{Base: time.Second, Max: time.Hour}, 1, time.Second},
		"third":           {hwt.Backoff{Base: time.Second, Max: time.Hour}, 3, 4 * time.Second},
		"limited":         {hwt.Backoff{Base: time.Second, Max: 3 * time.Second}, 3, 3 * time.Second},
		"limit below":     {hwt.Backoff{Base: time.Hour, Max: time.Second}, 1, time.Second},
		"overflow":        {hwt.Backoff{Base: time.Second, Max: math.MaxInt64 - 1}, 35, math.MaxInt64 - 1},
		"large shift":     {hwt.Backoff{Base: time.Second}, math.MaxInt, 10 * time.Minute},
		"no limit":        {hwt.Backoff{Base: 1, Max: math.MaxInt64}, 99, math.MaxInt64 - 1},
		"no failure":      {hwt.Backoff{Base: time.Second}, -5, time.Second},
		"default":         {hwt.Backoff{}, 1, time.Second},
		"default maximum": {hwt.Backoff{Base: time.Hour}, 9, time.Hour},
		"negative":        {hwt.Backoff{Base: -1, Max: -1}, 11, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			most := time.Duration(0)
			for range 1000 {
				d := c.backoff.Delay(c.failed)
				assert.GreaterOrEqual(t, d, time.Duration(0))
				most = max(most, d)
			}
			assert.LessOrEqual(t, most, c.most)
			assert.Greater(t, most, c.most/10*9, "the range is used")
		})
	}
}
