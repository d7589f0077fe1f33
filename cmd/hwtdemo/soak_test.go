package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/soak"
)

func TestSoakOfEveryEngineFindsNoViolation(t *testing.T) {
	r := call(strings.Fields("soak -for 500ms -json -seed 3")...)
	require.Equal(t, 0, r.status, r.errOut)
	decoder := json.NewDecoder(strings.NewReader(r.out))
	decoder.DisallowUnknownFields()
	var report soak.Report
	require.NoError(t, decoder.Decode(&report))
	assert.Empty(t, report.Violations)
	require.Len(t, report.Engines, 3)
	var accepted int64
	for _, e := range report.Engines {
		accepted += e.Accepted
		assert.Equal(t, e.Accepted, e.Expired+e.Cancelled+e.Unprocessed, e.Engine)
	}
	assert.Positive(t, accepted)
}
