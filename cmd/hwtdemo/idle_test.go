package main

import (
	"context"
	"encoding/json"
	"github.com/hashedwheel/hwt/internal/cli"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/echo"
	"github.com/hashedwheel/hwt/runtimetimer"
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
	status := idleStatus(echo.Progress{Open: 9_968, Silent: 5_044, Reaped: 4_223,
		P50: 1234 * time.Microsecond, P99: 123400 * time.Microsecond, Max: 1234 * time.Millisecond})
	assert.Equal(t, "open 9,968  reaped 4,223 of 5,044  late p50 1.23ms  p99 123ms  max 1.23s", status)
	assert.LessOrEqual(t, len(" 12s  "+status), 80)
	assert.Equal(t, "open 2  reaped 0 of 1", idleStatus(echo.Progress{Open: 2, Silent: 1}))
}

func TestIdleShowsProgressLinesWithoutATerminal(t *testing.T) {
	timer, err := runtimetimer.New(nil)
	require.NoError(t, err)
	defer timer.Stop()
	demo, err := echo.New(echo.Config{Listen: "127.0.0.1:0", IdleAfter: time.Hour, Connections: 3}, timer)
	require.NoError(t, err)
	var shown transcript
	stop := cli.Follow(&shown, lineEvery, func() string { return idleStatus(demo.Progress()) })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := demo.Run(ctx)
		done <- err
	}()
	line := regexp.MustCompile(`(?m)^ +\d+s  open 3  reaped 0 of 3$`)
	require.Eventually(t, func() bool { return line.MatchString(shown.String()) }, 20*time.Second, 10*time.Millisecond)
	stop()
	cancel()
	require.NoError(t, <-done)
	assert.NotContains(t, shown.String(), "\x1b", "control sequences are for terminals")
}

func TestIdleFailsIfTheServerDoes(t *testing.T) {
	for status, report := range map[int]*echo.Report{
		statusFailed: {Left: 1}, statusInterrupted: {Left: 1, Interrupted: true},
	} {
		assert.Equal(t, status, statusOf(conclude(io.Discard, report, false, report.Interrupted)))
	}
	assert.NoError(t, conclude(io.Discard, &echo.Report{}, false, false))
	early := &echo.Report{Early: 1, Interrupted: true}
	assert.Equal(t, statusFailed, statusOf(conclude(io.Discard, early, true, true)))
}

func TestIdleRejectsInvalidFlags(t *testing.T) {
	for line, want := range map[string]string{
		"idle --listen nowhere":         `invalid value "nowhere" for flag --listen: address nowhere: missing port in address`,
		"idle --listen=":                `invalid value "" for flag --listen: missing port in address`,
		"idle --connections 0":          `flag --connections: must be a number from 1 to 1000000`,
		"idle --idle-after 1ms":         `flag --idle-after: must be a duration from 10ms to 24h`,
		"idle --talkers 101 --talk 10s": `flag --talkers: must be a percentage from 0 to 100`,
		"idle --serve-only --json":      "--json: does not go with --serve-only, which has no clients",
		"idle --serve-only --seed 2":    "--seed: ",
		"idle now":                      `unexpected argument "now"`,
	} {
		r := call("", strings.Fields(line)...)
		assert.Equal(t, 2, r.status, line)
		assert.Contains(t, r.errOut, want)
	}
}
