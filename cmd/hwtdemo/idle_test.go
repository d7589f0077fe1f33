package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/echo"
)

func TestIdleConnectionsAreClosed(t *testing.T) {
	r := call("", strings.Fields("idle --connections 40 --idle-after 200ms --talk 100ms --talkers 25%")...)
	require.Equal(t, 0, r.status, r.errOut)
	assert.Regexp(t, `opened +40\n`, r.out)
	assert.Regexp(t, `left +0 `, r.out)
	assert.Contains(t, r.out, "hashed wheel, tick 100ms, 8192 buckets")
	assert.Contains(t, r.out, "  p50 ")
}

func TestIdleWritesOneJSONObject(t *testing.T) {
	r := call("", strings.Fields("idle --json --connections 10 --idle-after 100ms --talk 0 --talkers 0 --tick 5ms")...)
	require.Equal(t, 0, r.status, r.errOut)
	decoder := json.NewDecoder(strings.NewReader(r.out))
	decoder.DisallowUnknownFields()
	var report echo.Report
	require.NoError(t, decoder.Decode(&report))
	assert.EqualValues(t, 10, report.Reaped)
}

func TestIdleShowsProgress(t *testing.T) {
	assert.Equal(t, "  2s  open 1,200 of 1,500  to fall silent 700  reaped 300  late p50 1ms  p99 2ms  max 3ms",
		progressLine(2*time.Second, echo.Progress{Opened: 1500, Open: 1200, Silent: 700, Reaped: 300,
			P50: time.Millisecond, P99: 2 * time.Millisecond, Max: 3 * time.Millisecond}))
	r := call("", strings.Fields("idle --connections 5 --idle-after 1100ms --talk 0 --talkers 0")...)
	require.Equal(t, 0, r.status, r.errOut)
	assert.Contains(t, r.errOut, "  1s  open 5 of 5  to fall silent 5  reaped 0\n")
}

func TestIdleRefusesNonsense(t *testing.T) {
	for line, want := range map[string]string{
		"idle --listen nowhere":         `--listen "nowhere": `,
		"idle --connections 0":          `"--connections" flag: must be a number from 1 to 1,000,000`,
		"idle --idle-after 1ms":         `"--idle-after" flag: must be a duration from 10ms to 24h0m0s`,
		"idle --talkers 101 --talk 10s": `"--talkers" flag: must be a percentage from 0 to 100`,
		"idle --serve-only --json":      "--json: is of the clients and their report, and --serve-only has none",
		"idle --serve-only --seed 2":    "--seed: ",
		"idle now":                      `unknown command "now" for "hwtdemo idle"`,
	} {
		r := call("", strings.Fields(line)...)
		assert.Equal(t, 2, r.status, line)
		assert.Contains(t, r.errOut, want)
	}
}
