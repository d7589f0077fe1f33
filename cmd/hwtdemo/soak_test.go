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
	r := call(strings.Fields("soak --for 500ms --json --seed 3")...)
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

func TestSoakRejectsInvalidFlags(t *testing.T) {
	for line, want := range map[string]string{
		"soak --engine steam":               `invalid value "steam" for flag --engine: must be all, hashed, hierarchical or runtime`,
		"soak --load heavy":                 `invalid value "heavy" for flag --load: must be all, random, rate or resets`,
		"soak --load rate --engine Runtime": "--load rate: is for --engine hashed and hierarchical",
		"soak --for 1ms":                    `flag --for: must be a duration from 100ms to 720h`,
		"soak now":                          `unexpected argument "now"`,
	} {
		r := call(strings.Fields(line)...)
		assert.Equal(t, 2, r.status)
		assert.Contains(t, r.errOut, want)
	}
}
