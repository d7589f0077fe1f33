//go:build unix

package main

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/shop"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/soak"
)

// These tests build the command and run it as a user would. They use the real clock, and
// wait for output instead of sleeping.

func TestCommandEndToEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	binary := build(t)
	for name, test := range map[string]func(*testing.T, string){
		"orders add up":                    ordersAddUp,
		"orders stop at an interrupt":      ordersStop,
		"orders survive a stopped process": ordersSurviveAPause,
		"soak survives a stopped process":  soakSurvivesAPause,
		"soak stops at an interrupt":       soakStops,
		"nohup is respected":               nohupIsRespected,
		"invalid flags are rejected":       invalidFlagsAreRejected,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for a process
			test(t, binary)
		})
	}
}

func ordersAddUp(t *testing.T, binary string) {
	p := start(t, binary, "orders", "--orders", "20000", "--check-after", "300ms")
	status, out := p.end()
	assert.Equal(t, 0, status, p.errOut.String())
	assert.Contains(t, out, "20,000 orders, each")
}

func ordersStop(t *testing.T, binary string) {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		p := start(t, binary, "orders", "--json", "--orders", "2000", "--check-after", "1h")
		p.placed(t)
		p.signal(t, s)
		status, out := p.end()
		assert.Equal(t, 130, status, p.errOut.String())
		var report shop.Report
		require.NoError(t, json.Unmarshal([]byte(out), &report))
		assert.True(t, report.Interrupted)
		assert.EqualValues(t, 2000, report.Paid+report.Unprocessed)
		assert.Zero(t, report.Balance)
	}
}

// placed waits until the shop of 2,000 orders has placed all of them.
func (p *process) placed(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(p.errOut.String(), "created 2,000") },
		20*time.Second, 10*time.Millisecond)
}

// A process inherits that SIGHUP is ignored.
func nohupIsRespected(t *testing.T, binary string) {
	p := start(t, "sh", "-c", `trap "" HUP; exec "$0" orders --orders 2000 --check-after 1h`, binary)
	p.placed(t)
	p.signal(t, syscall.SIGHUP)
	time.Sleep(50 * time.Millisecond) // time in which it would end
	p.signal(t, syscall.SIGINT)
	status, out := p.end()
	assert.Equal(t, 130, status)
	assert.Contains(t, out, "Interrupted")
}

func invalidFlagsAreRejected(t *testing.T, binary string) {
	p := start(t, binary, "orders", "--paid", "most")
	status, _ := p.end()
	assert.Equal(t, 2, status)
}

// All checks become due while the process is stopped.
func ordersSurviveAPause(t *testing.T, binary string) {
	for _, engine := range []string{"hashed", "hierarchical", "runtime"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			p, checkAfter := ordersPlaced(t, binary, engine)
			p.freeze(t, checkAfter)
			status, out := p.end()
			assert.Equal(t, 0, status, p.errOut.String())
			var report shop.Report
			require.NoError(t, json.Unmarshal([]byte(out), &report))
			assert.EqualValues(t, 2000, report.Created)
			assert.EqualValues(t, 2000, report.Paid+report.Released)
			assert.Zero(t, report.Unprocessed)
			assert.Zero(t, report.Balance)
			assert.Zero(t, report.EndedTwice)
			assert.Zero(t, report.Lateness.Early)
		})
	}
}

// ordersPlaced starts a shop, and waits until it reports that all orders are placed and
// none has ended. On a slow machine it tries again with more time.
func ordersPlaced(t *testing.T, binary, engine string) (p *process, checkAfter time.Duration) {
	for checkAfter = 2 * time.Second; ; checkAfter *= 2 {
		p = start(t, binary, "orders", "--json", "--orders", "2000", "--check-after", checkAfter.String(), "--paid", "50", "--engine", engine)
		if p.writes("created 2,000") {
			return p, checkAfter
		}
		status, _ := p.end()
		require.Equal(t, 0, status, p.errOut.String())
	}
}

func soakSurvivesAPause(t *testing.T, binary string) {
	p := start(t, binary, "soak", "--json", "--for", "5s")
	time.Sleep(time.Second) // until the middle of some round
	p.freeze(t, 2*time.Second)
	status, out := p.end()
	assert.Equal(t, 0, status, p.errOut.String())
	checkSoaked(t, out, false)
}

func soakStops(t *testing.T, binary string) {
	p := start(t, binary, "soak", "--json", "--for", "1h")
	require.Eventually(t, func() bool { return strings.Contains(p.errOut.String(), "operations") },
		60*time.Second, 10*time.Millisecond)
	p.signal(t, syscall.SIGINT)
	status, out := p.end()
	assert.Equal(t, 130, status, p.errOut.String())
	checkSoaked(t, out, true)
}

// checkSoaked checks that out is the report of a soak without violations.
func checkSoaked(t *testing.T, out string, interrupted bool) {
	t.Helper()
	var report soak.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report), out)
	assert.Equal(t, interrupted, report.Interrupted)
	assert.Empty(t, report.Violations)
	require.Len(t, report.Engines, 3)
	accepted := int64(0) // of all engines, because on a slow machine a round may end before its callers start
	for _, e := range report.Engines {
		assert.Positive(t, e.Rounds, e.Engine)
		assert.Equal(t, e.Accepted, e.Expired+e.Cancelled+e.Unprocessed, e.Engine)
		accepted += e.Accepted
	}
	assert.Positive(t, accepted)
}
