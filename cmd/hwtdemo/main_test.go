package main

import (
	"bytes"
	"context"
	"errors"
	"os"
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
		"fly":                   `unknown command "fly" (expected: orders or soak)` + "\n",
		"orders x":              `unexpected argument "x"`,
		"orders --fast":         "flag provided but not defined: -fast\n",
		"orders -orders 0":      `-orders: 0 (expected: 1 to 100000000)`,
		"orders -orders 1e6":    `invalid value "1e6" for flag -orders: parse error`,
		"orders -check-after 0": `-check-after: 0s (expected: 1ms to 24h0m0s)`,
		"orders -paid 101":      `-paid: 101 (expected: 0 to 100)`,
		"orders -paid NaN":      `-paid: NaN (expected: 0 to 100)`,
		"orders -engine steam":  `-engine: "steam" (expected: hashed, hierarchical, runtime)`,
		"soak -engine steam":    `-engine: "steam" (expected: hashed, hierarchical, runtime), or all`,
		"soak -for 1ms":         `-for: 1ms (expected: 100ms to 720h0m0s)`,
		"soak now":              `unexpected argument "now"`,
	} {
		t.Run(line, func(t *testing.T) {
			r := call(strings.Split(line, " ")...)
			assert.Equal(t, 2, r.status)
			assert.Empty(t, r.out)
			assert.Contains(t, r.errOut, want)
		})
	}
}

// fullDisk is an output that rejects all writes.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk is full") }

func TestFullDiskIsAnError(t *testing.T) {
	for _, line := range []string{
		"-help", "orders -orders 10 -check-after 1ms", "soak -for 100ms -engine runtime",
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
		assert.Contains(t, r.out+r.errOut, "Examples:\n  hwtdemo ", line)
	}
}
