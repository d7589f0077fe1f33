package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/shop"
)

func TestOrdersAddUp(t *testing.T) {
	r := call("", strings.Fields("orders --orders 5000 --check-after 100ms --paid 80% --producers 3 --seed 7")...)
	require.Equal(t, 0, r.status, r.errOut)
	assert.Empty(t, r.errOut, "nothing to say in so short a time")
	assert.Contains(t, r.out, "A shop took 5,000 orders")
	assert.Regexp(t, `created +5,000\n`, r.out)
	assert.Regexp(t, `balance +0 `, r.out)
	assert.Contains(t, r.out, "hashed wheel, tick 1ms, 8192 buckets")
}

func TestOrdersShowProgressAsLinesWhereThereIsNoTerminal(t *testing.T) {
	r := call("", strings.Fields("orders --orders 100 --check-after 1100ms --paid 0")...)
	require.Equal(t, 0, r.status, r.errOut)
	assert.Equal(t, "  1s  created 100  paid 0  released 0  pending 100\n", r.errOut)
}

func TestOrdersWriteOneJSONObject(t *testing.T) {
	r := call("", strings.Fields("orders --json --orders 5000 --check-after 50ms --tick 5ms --wheel 100")...)
	require.Equal(t, 0, r.status, r.errOut)
	decoder := json.NewDecoder(strings.NewReader(r.out))
	decoder.DisallowUnknownFields()
	var report shop.Report
	require.NoError(t, decoder.Decode(&report))
	assert.False(t, decoder.More(), "nothing else on the standard output")
	assert.EqualValues(t, 5000, report.Paid+report.Released)
	assert.Zero(t, report.Balance)
	assert.Equal(t, "hashed wheel, tick 5ms, 100 buckets", report.Engine)
}

func TestOrdersAddUpOnEveryEngine(t *testing.T) {
	for engine, described := range map[string]string{
		"hashed":                 "hashed wheel, tick 1ms, 8192 buckets",
		"hierarchical":           "hierarchical wheel, tick 1ms, 64 buckets a level",
		"hierarchical --wheel 7": "hierarchical wheel, tick 1ms, 7 buckets a level",
		"runtime":                "Go's own timers",
	} {
		r := call("", strings.Fields("orders --orders 5000 --check-after 100ms --engine "+engine)...)
		require.Equal(t, 0, r.status, r.errOut)
		assert.Contains(t, r.out, described)
		assert.Regexp(t, `balance +0 `, r.out)
	}
}
