//go:build unix

package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/engines"
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
		p := start(t, "orders", "-orders", "2000", "-check-after", "1h")
		p.placed(t)
		p.signal(t, s)
		status, out := p.end()
		assert.Equal(t, 130, status, p.errOut.String())
		assert.Contains(t, out, "Interrupted after")
		assert.Equal(t, 2000, row(t, out, "paid")+row(t, out, "unprocessed"))
		assert.Zero(t, row(t, out, "balance"))
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
		assert.Equal(t, 2000, row(t, out, "created"))
		assert.Equal(t, 2000, row(t, out, "paid")+row(t, out, "released"))
		assert.Zero(t, row(t, out, "unprocessed"))
	}
}

// ordersPlaced starts a shop for each engine, and waits until they report that all orders are
// placed and not all have ended. On a slow machine it tries again with more time.
func ordersPlaced(t *testing.T) (all []*process, checkAfter time.Duration) {
	for checkAfter = 2 * time.Second; ; checkAfter *= 2 {
		all = nil
		for _, e := range engines.All {
			all = append(all, start(t, "orders", "-orders", "2000", "-check-after", checkAfter.String(), "-paid", "50", "-engine", e.Name))
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
	p := start(t, "soak", "-for", "1h")
	time.Sleep(time.Second / 2) // until the middle of some round
	p.signal(t, syscall.SIGSTOP)
	time.Sleep(2 * time.Second)
	p.signal(t, syscall.SIGCONT)
	require.Eventually(t, func() bool { return strings.Contains(p.errOut.String(), "operations") },
		60*time.Second, 10*time.Millisecond)
	p.signal(t, syscall.SIGINT)
	status, out := p.end()
	assert.Equal(t, 130, status, p.errOut.String())
	assert.Contains(t, out, "It was interrupted.")
	assert.Contains(t, out, "violations  0\n")
	for _, e := range engines.All {
		assert.Contains(t, out, e.Name)
	}
}

// row returns the number of a row of a report.
func row(t *testing.T, report, name string) int {
	t.Helper()
	m := regexp.MustCompile(`(?m)^ *` + name + ` +([\d,]+) `).FindStringSubmatch(report)
	require.NotNil(t, m, report)
	n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
	require.NoError(t, err)
	return n
}
