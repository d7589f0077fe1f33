package run

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/spec"
)

func TestChildWritesASample(t *testing.T) {
	text, err := json.Marshal(spec.Spec{Measure: spec.Cancel, Engine: "hashedwheel", Producers: 2, Pending: 10, N: 1000})
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, Child(string(text), &out))
	sample := parse([]byte("a rival's output\n" + out.String()))
	assert.Empty(t, sample.Failure)
	assert.Positive(t, sample.Metrics[spec.WallNs])
	assert.GreaterOrEqual(t, sample.Metrics[spec.Bytes], 48.0)
}

func TestChildRejectsUnknownMeasurements(t *testing.T) {
	assert.ErrorContains(t, Child(`{"measure":"nonsense","engine":"hashedwheel"}`, nil), "nonsense")
	assert.ErrorContains(t, Child(`{"measure":"cancel","engine":"unknown"}`, nil), "unknown")
	assert.Error(t, Child(`{`, nil))
}

func TestMissingSampleIsAFailure(t *testing.T) {
	assert.Contains(t, parse(nil).Failure, "no result")
	assert.Contains(t, parse([]byte("hello")).Failure, "no result")
}

func TestHangsAndCrashesAreFailures(t *testing.T) {
	sample, err := inChild(t.Context(), []string{"sleep", "60"}, nil, 50*time.Millisecond)
	require.NoError(t, err)
	assert.Contains(t, sample.Failure, "not finished after")
	sample, err = inChild(t.Context(), []string{"sh", "-c", "echo first >&2; echo 'panic: oh' >&2; exit 2"}, nil, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, "crashed: panic: oh", sample.Failure)
}

func TestInterruptedChildIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := inChild(ctx, []string{"sleep", "60"}, nil, time.Minute)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestReasonIsThePanicOrTheFirstLine(t *testing.T) {
	err := errors.New("exit status 1")
	assert.Equal(t, "fatal error: all goroutines are asleep", reason("x\nfatal error: all goroutines are asleep\ny", err))
	assert.Equal(t, "x", reason("x\ny\n", err))
	assert.Equal(t, "exit status 1", reason("", err))
}
