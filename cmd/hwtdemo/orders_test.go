package main

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/engines"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/shop"
	"github.com/hashedwheel/hwt/internal/cli"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestOrdersAddUp(t *testing.T) {
	r := call(strings.Fields("orders -orders 5000 -check-after 100ms -paid 80")...)
	require.Equal(t, 0, r.status, r.errOut)
	assert.Equal(t, ordersLegend+"\n", progressLines.ReplaceAllString(r.errOut, ""), "no other output")
	assert.Contains(t, r.out, "5,000 orders, each")
	assert.Regexp(t, `created +5,000 +of 5,000\n`, r.out)
	assert.Regexp(t, `balance +0   did not end: must be 0; 0 ended twice\n`, r.out)
}

// progressLines matches the progress of a run that takes a second or more.
var progressLines = regexp.MustCompile(`(?m)^ *\d+s  created [\d,]+  paid [\d,]+  released [\d,]+  pending [\d,]+\n`)

func TestOrdersShowProgressLinesWithoutATerminal(t *testing.T) {
	config := shop.Config{Orders: 100, CheckAfter: time.Hour, Producers: 1}
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

func TestOrdersAddUpOnEveryEngine(t *testing.T) {
	for _, engine := range engines.All {
		t.Run(engine.Name, func(t *testing.T) {
			r := call(strings.Fields("orders -orders 5000 -check-after 100ms -engine " + engine.Name)...)
			require.Equal(t, 0, r.status, r.errOut)
			assert.Regexp(t, `balance +0 `, r.out)
		})
	}
}
