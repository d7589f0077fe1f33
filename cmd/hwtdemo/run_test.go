package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/runner"
)

// measured matches the measured times in the output.
var measured = regexp.MustCompile(`(?m)^ *\d+\.\d+s|\+\S+ +`)

func TestRunFiresTheScheduledRows(t *testing.T) {
	r := call("delay,id,message\n2ms,b,second\n1ms,a,first\n", "run")
	assert.Equal(t, 0, r.status)
	fired := strings.SplitAfter(measured.ReplaceAllString(r.out, ""), "\n")
	assert.ElementsMatch(t, []string{"  a                 first\n", "  b                 second\n", ""}, fired, "in some order on a busy machine")
	assert.Equal(t, "scheduled 2, fired 2, cancelled 0, reset 0, bad rows 0\n", r.errOut)
}

func TestRunReadsAFileAndQuotesControlCharacters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.csv")
	require.NoError(t, os.WriteFile(file, []byte("id,delay,message\na,1ms,\x1b[2J\n"), 0o600))
	r := call("", "run", file, "--strict")
	assert.Equal(t, 0, r.status, r.errOut)
	assert.Contains(t, r.out, `"\x1b[2J"`)
}

func TestRunReportsBadRowsAndFiresTheOthers(t *testing.T) {
	r := call("", "run", filepath.Join("testdata", "bad.csv"))
	assert.Equal(t, 1, r.status)
	want, err := os.ReadFile(filepath.Join("testdata", "bad.stderr"))
	require.NoError(t, err)
	assert.Equal(t, string(want), strings.ReplaceAll(r.errOut, "testdata"+string(filepath.Separator), ""))
	assert.Equal(t, 4, strings.Count(r.out, "\n"))
	for _, id := range []string{"good-1", "good-2", "good-3", "good-5"} {
		assert.Contains(t, r.out, id)
	}
}

// The runner's tests run the example in fake time. Here, it would take 10 seconds.
func TestRunHasAnExample(t *testing.T) {
	in, err := (&runCommand{example: true}).input(nil)
	require.NoError(t, err)
	read, err := in.read(t.Context())
	require.NoError(t, err)
	assert.Empty(t, read.Problems)
	assert.NotEmpty(t, read.Rows)
}

func TestStrictRunFiresNoRowIfOneIsBad(t *testing.T) {
	r := call("id,delay\na,1ms\nb,x\nc,y\n", "run", "--strict")
	assert.Equal(t, 1, r.status)
	assert.Empty(t, r.out)
	assert.Equal(t, `stdin:3: delay "x" is not a duration such as 250ms, 5s or 1m30s
stdin:4: delay "y" is not a duration such as 250ms, 5s or 1m30s
hwtdemo: no row was run: 2 bad rows in stdin
`, r.errOut)
	r = call("id,delay\na,1ms\n", "run", "--strict")
	assert.Equal(t, 0, r.status)
}

func TestRunRejectsInputThatIsNotASchedule(t *testing.T) {
	for input, want := range map[string]string{
		"":                    "stdin: no header",
		"# c\nid,dealy\n":     `stdin:2: unknown column "dealy" in the header`,
		"\x7fELF\x01\xff\xfe": "stdin:1: not UTF-8 text",
	} {
		r := call(input, "run")
		assert.Equal(t, 1, r.status)
		assert.Contains(t, r.errOut, "hwtdemo: "+want)
		assert.Empty(t, r.out)
	}
	r := call("", "run", "no-such-file.csv")
	assert.Equal(t, 1, r.status)
	assert.Equal(t, "hwtdemo: open no-such-file.csv: no such file or directory\n", r.errOut)
	r = call("", "run", ".")
	assert.Equal(t, 1, r.status)
	assert.Equal(t, "hwtdemo: read .: is a directory\n", r.errOut)
}

func TestRunReportsLateCancelsAndResets(t *testing.T) {
	const want = `stdin:3: notice: cancel of a came too late: it fired already
stdin:4: notice: reset of a came too late: it fired already
scheduled 1, fired 1, cancelled 0, reset 0, bad rows 0, too late to cancel or reset 2
`
	var r result
	for _, later := range []string{"50ms", "1s", "10s"} { // on a busy machine, a fires late
		r = call("at,op,id,delay\n0,schedule,a,1ms\n"+later+",cancel,a,\n"+later+",reset,a,1s\n", "run")
		if r.errOut == want {
			break
		}
	}
	assert.Equal(t, 0, r.status)
	assert.Equal(t, want, r.errOut)
}

func TestUnfiredLinesHaveNoTrailingBlanks(t *testing.T) {
	var out strings.Builder
	writeUnfired(&out, []runner.Unfired{{ID: "a", Remaining: time.Hour, Scheduled: true}, {ID: "b", Remaining: time.Hour}})
	assert.Equal(t, "Not fired, with the time that remained:\n       1h  a\n       1h  b                 (not scheduled yet)\n", out.String())
}

// fullDisk is an output that rejects all writes.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk is full") }

func TestRunStopsWhenItsOutputFails(t *testing.T) {
	var errOut transcript
	input := strings.NewReader("id,delay\na,1ms\nb,1h\nbad\n")
	status := execute(t.Context(), []string{"run"}, input, fullDisk{}, &errOut)
	assert.Equal(t, 1, status)
	assert.Contains(t, errOut.String(), "hwtdemo: writing the output: disk is full\n")
	assert.Contains(t, errOut.String(), "not fired 1")
}

func TestRunReportsInputThatFails(t *testing.T) {
	var errOut transcript
	input := io.MultiReader(strings.NewReader("id,delay\na,1ms\n"), iotest.ErrReader(errors.New("cable cut")))
	status := execute(t.Context(), []string{"run"}, input, io.Discard, &errOut)
	assert.Equal(t, 1, status)
	assert.Equal(t, "hwtdemo: stdin: cable cut\n", errOut.String())
}
