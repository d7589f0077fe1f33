package check_test

import (
	"bytes"
	"io"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/check"
)

func TestErrorNamesPackageFieldValueAndRange(t *testing.T) {
	assert.EqualError(t, check.Invalid("sundial", "Shadow", time.Second, "a minute or more"),
		"sundial: Options.Shadow: 1s (expected: a minute or more)")
}

func TestErrorfMatchesErrInvalidAndItsCause(t *testing.T) {
	err := check.Errorf("sundial: night: %w", io.EOF)
	assert.EqualError(t, err, "sundial: night: EOF")
	assert.ErrorIs(t, err, check.ErrInvalid)
	assert.ErrorIs(t, err, io.EOF)
	assert.NotErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestZeroIsTheDefault(t *testing.T) {
	n, err := check.OrDefault("sundial", "Hours", 0, 12, 1, 24)
	assert.NoError(t, err)
	assert.Equal(t, 12, n)
}

func TestValueInItsRangeIsAccepted(t *testing.T) {
	for _, hours := range []int{1, 24} {
		n, err := check.OrDefault("sundial", "Hours", hours, 12, 1, 24)
		assert.NoError(t, err)
		assert.Equal(t, hours, n)
	}
}

func TestValueOutsideItsRangeIsAnError(t *testing.T) {
	for hours, want := range map[int64]string{
		-1:            "sundial: Options.Hours: -1 (expected: 0 for the default, or 1 to 24)",
		25:            "sundial: Options.Hours: 25 (expected: 0 for the default, or 1 to 24)",
		math.MinInt64: "sundial: Options.Hours: -9223372036854775808 (expected: 0 for the default, or 1 to 24)",
	} {
		n, err := check.OrDefault("sundial", "Hours", hours, 12, 1, 24)
		assert.EqualError(t, err, want)
		assert.Zero(t, n)
	}
}

func TestNegativeIsOff(t *testing.T) {
	assert.Equal(t, time.Minute, check.OrOff(0, time.Minute))
	assert.Equal(t, time.Second, check.OrOff(time.Second, time.Minute))
	assert.Zero(t, check.OrOff(-1, time.Minute))
	assert.Zero(t, check.OrOff(math.MinInt64, time.Minute))
}

func TestTypedNilIsAnError(t *testing.T) {
	var w io.Writer
	assert.NoError(t, check.NotTypedNil("sundial", "Log", w, "a writer"), "nil is the default")
	w = new(bytes.Buffer)
	assert.NoError(t, check.NotTypedNil("sundial", "Log", w, "a writer"))
	w = (*bytes.Buffer)(nil)
	assert.EqualError(t, check.NotTypedNil("sundial", "Log", w, "nil for none, or a writer"),
		"sundial: Options.Log: (*bytes.Buffer)(nil) (expected: nil for none, or a writer)")
}

func TestNilArgumentIsAnError(t *testing.T) {
	const want = "sundial: New: face is nil (expected: a writer)"
	assert.EqualError(t, check.NotNil("sundial", "New", "face", nil, "a writer"), want)
	assert.EqualError(t, check.NotNil("sundial", "New", "face", (*bytes.Buffer)(nil), "a writer"), want)
	assert.EqualError(t, check.NotNil("sundial", "New", "face", (func())(nil), "a writer"), want)
	assert.NoError(t, check.NotNil("sundial", "New", "face", new(bytes.Buffer), "a writer"))
}

func TestArgumentThatIsNotPositiveIsAnError(t *testing.T) {
	assert.NoError(t, check.Positive("sundial", "New", "day", 1))
	assert.EqualError(t, check.Positive("sundial", "New", "day", 0),
		"sundial: New: day is 0s (expected: a positive duration)")
	assert.EqualError(t, check.Positive("sundial", "New", "day", -time.Second),
		"sundial: New: day is -1s (expected: a positive duration)")
}
