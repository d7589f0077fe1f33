package hwt_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// wrapped is a timeout that does not pass Caller on.
type wrapped struct{ hwt.Timeout }

func TestCallerOfNamesTheFunctionThatScheduled(t *testing.T) {
	timer, err := hashedwheel.New(&hashedwheel.Options{RecordCallers: true})
	require.NoError(t, err)
	defer timer.Stop()
	timeout, err := timer.AfterFunc(time.Hour, func() {})
	require.NoError(t, err)
	frame, ok := hwt.CallerOf(timeout)
	assert.True(t, ok)
	assert.Equal(t, "github.com/hashedwheel/hwt_test.TestCallerOfNamesTheFunctionThatScheduled", frame.Function)
	_, ok = hwt.CallerOf(wrapped{timeout})
	assert.False(t, ok)
}
