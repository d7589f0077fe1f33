package cli_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/cli"
)

func TestCountsHaveCommas(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 65_536: "65,536", 123_456: "123,456", 1_000_000: "1,000,000",
		-1: "-1", -999: "-999", -1000: "-1,000", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		assert.Equal(t, want, cli.Count(n))
	}
}

func TestNumbersHaveThreeDigitsAndCommas(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.00001: "0", -0.00001: "0", 0.00123: "0.00123", 0.01234: "0.0123", 1: "1", 9.996: "10", 12.34: "12.3",
		99.96: "100", 999.4: "999", 999.6: "1,000", 1234567: "1,234,567", -0.45: "-0.45", -1234: "-1,234",
	} {
		assert.Equal(t, want, cli.Number(v), v)
	}
}

func TestDurationsHaveThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 7: "7ns", 612_345: "612µs", 1_234_567: "1.23ms", 12_345_678: "12.3ms", 123_456_789: "123ms",
		999_999: "1ms", 5_934_567_890: "5.93s", 59_999_999_999: "1m0s", 90_400_000_000: "1m30s", -1_234_567: "-1.23ms",
	} {
		assert.Equal(t, want, cli.Duration(d))
	}
}

func TestRatesHaveThreeDigits(t *testing.T) {
	assert.Equal(t, "812", cli.Rate(812, time.Second))
	assert.Equal(t, "45.1 thousand", cli.Rate(90_200, 2*time.Second))
	assert.Equal(t, "11.2 million", cli.Rate(112, 10*time.Microsecond))
	assert.Equal(t, "n/a", cli.Rate(0, time.Second))
	assert.Equal(t, "n/a", cli.Rate(5, 0))
}
