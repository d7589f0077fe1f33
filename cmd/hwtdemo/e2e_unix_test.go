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

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/engines"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/shop"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/soak"
)

// These tests run the command as a user would. They use the real clock, and wait for output
// instead of sleeping.

func TestCommandEndToEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several seconds")
	}
	for name, test := range map[string]func(*testing.T){
		"orders stop at an interrupt":      ordersStop,
		"orders survive a stopped process": ordersSurviveAPause,
		"soak survives both":               soakStops,
		"invalid flags are rejected":       invalidFlagsAreRejected,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for a process
			test(t)
		})
	}
}

func ordersStop(t *testing.T) {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := start(t, "orders", "-json", "-orders", "2000", "-check-after", "1h")
		p.placed(t)
		p.signal(t, s)
		status, out := p.end()
		assert.Equal(t, 130, status, p.errOut.String())
		var report shop.Report
		require.NoError(t, json.Unmarshal([]byte(out), &report))
		assert.True(t, report.Interrupted)
		assert.EqualValues(t, 2000, report.Paid+report.Unprocessed)
		assert.Zero(t, report.Rest())
	}
}

// placed waits until the shop of 2,000 orders has placed all of them.
func (p *process) placed(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(p.errOut.String(), "created 2,000") },
		20*time.Second, 10*time.Millisecond)
}

func invalidFlagsAreRejected(t *testing.T) {
	p := start(t, "orders", "-paid", "most")
	status, _ := p.end()
	assert.Equal(t, 2, status)
}

// All checks become due while the processes are stopped.
func ordersSurviveAPause(t *testing.T) {
	all, checkAfter := ordersPlaced(t)
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		for _, p := range all {
			p.signal(t, s)
		}
		if s == syscall.SIGSTOP {
			time.Sleep(checkAfter)
		}
	}
	for _, p := range all {
		status, out := p.end()
		assert.Equal(t, 0, status, p.errOut.String())
		var report shop.Report
		require.NoError(t, json.Unmarshal([]byte(out), &report))
		assert.EqualValues(t, 2000, report.Created)
		assert.EqualValues(t, 2000, report.Paid+report.Released)
		assert.Zero(t, report.Unprocessed)
		assert.Zero(t, report.EndedTwice)
		assert.Zero(t, report.Lateness.Early)
	}
}

// ordersPlaced starts a shop for each engine, and waits until they report that all orders are
// placed and not all have ended. On a slow machine it tries again with more time.
func ordersPlaced(t *testing.T) (all []*process, checkAfter time.Duration) {
	for checkAfter = 2 * time.Second; ; checkAfter *= 2 {
		all = nil
		for _, e := range engines.Names() {
			all = append(all, start(t, "orders", "-json", "-orders", "2000", "-check-after", checkAfter.String(), "-paid", "50", "-engine", e))
		}
		placed := true
		for _, p := range all {
			placed = p.writes("created 2,000") && placed
		}
		if placed {
			return all, checkAfter
		}
		for _, p := range all {
			status, _ := p.end()
			require.Equal(t, 0, status, p.errOut.String())
		}
	}
}

// soakStops interrupts a soak that was stopped for two seconds.
func soakStops(t *testing.T) {
	p := start(t, "soak", "-json", "-for", "1h")
	time.Sleep(time.Second / 2) // until the middle of some round
	p.signal(t, syscall.SIGSTOP)
	time.Sleep(2 * time.Second)
	p.signal(t, syscall.SIGCONT)
	require.Eventually(t, func() bool { return strings.Contains(p.errOut.String(), "operations") },
		60*time.Second, 10*time.Millisecond)
	p.signal(t, syscall.SIGINT)
	status, out := p.end()
	assert.Equal(t, 130, status, p.errOut.String())
	var report soak.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report), out)
	assert.True(t, report.Interrupted)
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
