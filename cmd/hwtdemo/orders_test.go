package main

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/shop"
	"github.com/hashedwheel/hwt/internal/cli"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestOrdersAddUp(t *testing.T) {
	r := call(strings.Fields("orders -orders 5000 -check-after 100ms -paid 80 -producers 3 -seed 7")...)
	require.Equal(t, 0, r.status, r.errOut)
	assert.Equal(t, ordersLegend+"\n", progressLines.ReplaceAllString(r.errOut, ""), "no other output")
	assert.Contains(t, r.out, "5,000 orders, each")
	assert.Regexp(t, `created +5,000 +of 5,000\n`, r.out)
	assert.Regexp(t, `balance +0   did not end: must be 0; 0 ended twice\n`, r.out)
	assert.Contains(t, r.out, "hashed wheel, tick 1ms, 8192 buckets, 1 workers")
}

// progressLines matches the progress of a run that takes a second or more.
var progressLines = regexp.MustCompile(`(?m)^ *\d+s  created [\d,]+  paid [\d,]+  released [\d,]+  pending [\d,]+\n`)

func TestOrdersShowProgressLinesWithoutATerminal(t *testing.T) {
	config := shop.Config{Orders: 100, CheckAfter: time.Hour, Producers: 1, Seed: 1}
	timer, err := runtimetimer.New(nil)
	require.NoError(t, err)
	simulation := shop.New(config, timer)
	var shown transcript
	stop := cli.Follow(&shown, lineEvery, func() string { return ordersStatus(simulation.Progress()) })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := simulation.Run(ctx)
		done <- err
	}()
	line := regexp.MustCompile(`(?m)^ +\d+s  created 100  paid 0  released 0  pending 100$`)
	require.Eventually(t, func() bool { return line.MatchString(shown.String()) }, 20*time.Second, 10*time.Millisecond)
	stop()
	cancel()
	require.NoError(t, <-done)
	assert.Empty(t, progressLines.ReplaceAllString(shown.String(), ""))
}

func TestOrdersWriteOneJSONObject(t *testing.T) {
	r := call(strings.Fields("orders -json -orders 5000 -check-after 50ms -tick 5ms -wheel 100")...)
	require.Equal(t, 0, r.status, r.errOut)
	decoder := json.NewDecoder(strings.NewReader(r.out))
	decoder.DisallowUnknownFields()
	var report shop.Report
	require.NoError(t, decoder.Decode(&report))
	assert.False(t, decoder.More(), "no other output")
	assert.EqualValues(t, 5000, report.Paid+report.Released)
	assert.Zero(t, report.Rest())
	assert.Equal(t, "hashed wheel, tick 5ms, 100 buckets, 1 workers", report.Engine)
}

func TestOrdersAddUpOnEveryEngine(t *testing.T) {
	for engine, described := range map[string]string{
		"hashed":                "hashed wheel, tick 1ms, 8192 buckets, 1 workers",
		"hierarchical":          "hierarchical wheel, tick 1ms, 64 buckets per level, 1 workers",
		"hashed -workers 2":     "hashed wheel, tick 1ms, 8192 buckets, 2 workers",
		"hierarchical -wheel 7": "hierarchical wheel, tick 1ms, 7 buckets per level, 1 workers",
		"runtime":               "Go's own timers",
	} {
		r := call(strings.Fields("orders -orders 5000 -check-after 100ms -engine " + engine)...)
		require.Equal(t, 0, r.status, r.errOut)
		assert.Contains(t, r.out, described)
		assert.Regexp(t, `balance +0 `, r.out)
	}
}
