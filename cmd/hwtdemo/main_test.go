package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"
)

// asCommand is the environment variable with which a test's process is the command.
const asCommand = "HWTDEMO_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// result is the outcome of a command line.
type result struct {
	status      int
	out, errOut string
}

// transcript is a buffer that is safe for concurrent use, as files are.
type transcript struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.String()
}

// call runs a command line in this process.
func call(args ...string) result {
	var out, errOut transcript
	status := execute(context.Background(), args, &out, &errOut)
	return result{status: status, out: out.String(), errOut: errOut.String()}
}

func TestWrongUsageExitsWithTwo(t *testing.T) {
	for line, want := range map[string]string{
		"fly":                                  `unknown command "fly" (expected: orders or soak)` + "\n",
		"orders x":                             `unexpected argument "x"`,
		"orders --fast":                        "flag provided but not defined: -fast\n",
		"orders -orders 0":                     `invalid value "0" for flag -orders: must be from 1 to 100000000`,
		"orders -orders 1e6":                   `invalid value "1e6" for flag -orders: must be from 1 to 100000000`,
		"orders -orders":                       "flag needs an argument: -orders",
		"orders -check-after 0":                `invalid value "0" for flag -check-after: must be from 1ms to 24h0m0s`,
		"orders -check-after soon":             `invalid value "soon" for flag -check-after: must be from 1ms to 24h0m0s`,
		"orders -paid 101":                     `invalid value "101" for flag -paid: must be from 0 to 100`,
		"orders -paid NaN":                     `invalid value "NaN" for flag -paid: must be from 0 to 100`,
		"orders -producers -1":                 `invalid value "-1" for flag -producers: must be from 1 to 1024`,
		"orders -seed -1":                      `invalid value "-1" for flag -seed: must be from 0 to 18446744073709551615`,
		"orders -tick 1us":                     `invalid value "1us" for flag -tick: must be from 1ms to 10s`,
		"orders -wheel 99999999":               `invalid value "99999999" for flag -wheel: must be from 1 to 16777216`,
		"orders -engine steam":                 `invalid value "steam" for flag -engine: must be one of [hashed hierarchical runtime]`,
		"orders -engine runtime -tick 2ms":     `-tick: does not apply to the runtime engine (allowed: -engine hashed or hierarchical)`,
		"orders -engine hierarchical -wheel 1": `-wheel: hierarchical: Options.TicksPerWheel: 1 `,
		"soak -engine steam":                   `invalid value "steam" for flag -engine: must be one of [hashed hierarchical runtime all]`,
		"soak -for 1ms":                        `invalid value "1ms" for flag -for: must be from 100ms to 720h0m0s`,
		"soak now":                             `unexpected argument "now"`,
	} {
		r := call(strings.Split(line, " ")...)
		assert.Equal(t, 2, r.status, line)
		assert.Empty(t, r.out, line)
		assert.Contains(t, r.errOut, "hwtdemo: "+want, line)
		assert.Equal(t, 1, strings.Count(r.errOut, "hwtdemo: "), line)
		assert.Contains(t, r.errOut, "-help'", line)
		assert.NotContains(t, r.errOut, "Usage:", line)
	}
}

// A usage error comes before the command creates its orders.
func TestWrongUsageIsFoundBeforeAnyWork(t *testing.T) {
	for _, flags := range []string{"-engine runtime -tick 2ms", "-engine runtime -wheel 4", "-engine runtime -workers 2", "-workers 0", "-engine hierarchical -wheel 1"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := call(strings.Fields("orders -orders 1000000 " + flags)...)
		runtime.ReadMemStats(&after)
		assert.Equal(t, 2, r.status)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(10<<20), "a million orders take more")
	}
}

// fullDisk is an output that rejects all writes.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk is full") }

func TestFullDiskIsAnError(t *testing.T) {
	for _, line := range []string{
		"-help", "orders -help", "orders -orders 10 -check-after 1ms", "orders -orders 10 -check-after 1ms -json", "soak -for 100ms -engine runtime",
	} {
		var errOut transcript
		status := execute(t.Context(), strings.Fields(line), fullDisk{}, &errOut)
		assert.Equal(t, 1, status, line)
		assert.Equal(t, 1, strings.Count(errOut.String(), "hwtdemo: writing the output: disk is full\n"), "%s: %s", line, errOut.String())
	}
}

func TestHelpShowsExamples(t *testing.T) {
	for _, line := range []string{"", "help", "--help", "-help", "orders --help", "soak -h"} {
		r := call(strings.Fields(line)...)
		assert.Equal(t, 0, r.status, line)
		assert.Contains(t, r.out, "Examples:\n  hwtdemo ", line)
		assert.Empty(t, r.errOut, line)
		for text := range strings.Lines(r.out) {
			assert.LessOrEqual(t, len(text), 81, text)
		}
	}
}
