package hwt_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

func TestPendingLimitErrorIsErrTooManyPending(t *testing.T) {
	err := fmt.Errorf("order 7: %w", &hwt.PendingLimitError{Pending: 3, Max: 2})
	require.ErrorIs(t, err, hwt.ErrTooManyPending)
	assert.NotErrorIs(t, err, hwt.ErrStopped)
	assert.NotErrorIs(t, err, hwt.ErrNilTask)
	var limit *hwt.PendingLimitError
	require.ErrorAs(t, err, &limit)
	assert.Equal(t, hwt.PendingLimitError{Pending: 3, Max: 2}, *limit)
}

func TestPendingLimitErrorNamesBothNumbers(t *testing.T) {
	assert.EqualError(t, &hwt.PendingLimitError{Pending: 3, Max: 2},
		"hwt: number of pending timeouts (3) is greater than or equal to maximum allowed pending timeouts (2)")
}

func TestPanicErrorShowsTheValue(t *testing.T) {
	assert.EqualError(t, &hwt.PanicError{Value: "no good"}, "hwt: panic: no good")
	assert.EqualError(t, &hwt.PanicError{Value: 42}, "hwt: panic: 42")
	assert.EqualError(t, &hwt.PanicError{Value: fs.ErrClosed}, "hwt: panic: file already closed")
	assert.EqualError(t, &hwt.PanicError{}, "hwt: panic: <nil>")
}

func TestPanicErrorUnwrapsToAnErrorValueOnly(t *testing.T) {
	assert.ErrorIs(t, &hwt.PanicError{Value: fmt.Errorf("reading: %w", fs.ErrClosed)}, fs.ErrClosed)
	assert.NoError(t, errors.Unwrap(&hwt.PanicError{Value: "file already closed"}))
	assert.NoError(t, errors.Unwrap(&hwt.PanicError{}))
}

func TestSentinelsDiffer(t *testing.T) {
	all := []error{hwt.ErrStopped, hwt.ErrNilTask, hwt.ErrTooManyPending}
	for i, a := range all {
		assert.Contains(t, a.Error(), "hwt: ")
		for j, b := range all {
			assert.Equal(t, i == j, errors.Is(a, b))
		}
	}
}
