//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/shop"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/soak"
)

// These tests build the command and run it as a user would. They use the real
// clock, and wait for output rather than for time to pass.

// build builds the command once and returns its path.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "hwtdemo")
	text, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", text)
	return binary
}

// process is a running command.
type process struct {
	*exec.Cmd
	out    *bufio.Reader
	errOut text
	wrote  chan struct{} // closed once there is output, or the end of it; nil unless says was called
}

// start starts the command with input on its standard input, or with a pipe that
// stays open if input is nil.
func start(t *testing.T, binary string, input *string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(binary, args...)}
	p.Stderr = &p.errOut
	p.WaitDelay = 20 * time.Second
	if input != nil {
		p.Stdin = strings.NewReader(*input)
	} else {
		_, err := p.StdinPipe()
		require.NoError(t, err)
	}
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewReader(out)
	require.NoError(t, p.Start())
	t.Cleanup(func() { p.Process.Kill() })
	return p
}

// line reads the next line of output.
func (p *process) line(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	require.NoError(t, err, p.errOut.String())
	return line
}

// says waits until the process writes text on its standard error, and returns
// false if there is output before, or the process ends.
func (p *process) says(text string) bool {
	p.wrote = make(chan struct{})
	go func() {
		p.out.Peek(1)
		close(p.wrote)
	}()
	for !strings.Contains(p.errOut.String(), text) {
		select {
		case <-p.wrote:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
	return true
}

// signal sends a signal.
func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	require.NoError(t, p.Process.Signal(s))
}

// end reads the rest of the output and returns the exit status.
func (p *process) end() (status int, out string) {
	if p.wrote != nil {
		<-p.wrote
	}
	var rest strings.Builder
	p.out.WriteTo(&rest)
	p.Wait()
	return p.ProcessState.ExitCode(), rest.String()
}

func ptr(s string) *string { return &s }

func TestCommandEndToEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	binary := build(t)
	for name, test := range map[string]func(*testing.T, string){
		"orders add up":                       ordersAddUp,
		"orders stop at an interrupt":         ordersStop,
		"orders survive a stopped process":    ordersSurviveAPause,
		"soak survives a stopped process":     soakSurvivesAPause,
		"soak stops at an interrupt":          soakStops,
		"run stops at an interrupt":           runStops,
		"run stops while it waits for input":  runStopsWaiting,
		"run stops its commands":              runStopsCommands,
		"run ends when nobody reads":          runEndsWhenNobodyReads,
		"nonsense is refused":                 nonsenseIsRefused,
		"a shell is used only if it is named": shellOnlyIfNamed,
	} {
		t.Run(name, func(t *testing.T) { test(t, binary) })
	}
}

func ordersAddUp(t *testing.T, binary string) {
	p := start(t, binary, ptr(""), "orders", "--orders", "20000", "--check-after", "300ms")
	status, out := p.end()
	assert.Equal(t, 0, status, p.errOut.String())
	assert.Contains(t, out, "A shop took 20,000 orders")
}

func ordersStop(t *testing.T, binary string) {
	p := start(t, binary, ptr(""), "orders", "--json", "--orders", "2000", "--check-after", "1h")
	require.Eventually(t, func() bool { return strings.Contains(p.errOut.String(), "created 2,000") },
		20*time.Second, 10*time.Millisecond)
	p.signal(t, syscall.SIGINT)
	status, out := p.end()
	assert.Equal(t, 130, status, p.errOut.String())
	var report shop.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	assert.True(t, report.Interrupted)
	assert.EqualValues(t, 2000, report.Paid+report.Unprocessed)
	assert.Zero(t, report.Balance)
}

// freeze stops the process, as Ctrl-Z does, and lets it go on after pause.
func (p *process) freeze(t *testing.T, pause time.Duration) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	time.Sleep(pause)
	p.signal(t, syscall.SIGCONT)
}

// All checks come due while the process stands still.
func ordersSurviveAPause(t *testing.T, binary string) {
	for _, engine := range []string{"hashed", "hierarchical", "runtime"} {
		p, checkAfter := ordersPlaced(t, binary, engine)
		p.freeze(t, checkAfter)
		status, out := p.end()
		assert.Equal(t, 0, status, p.errOut.String())
		var report shop.Report
		require.NoError(t, json.Unmarshal([]byte(out), &report))
		assert.EqualValues(t, 2000, report.Created)
		assert.EqualValues(t, 2000, report.Paid+report.Released, engine)
		assert.Zero(t, report.Unprocessed, engine)
		assert.Zero(t, report.Balance, engine)
		assert.Zero(t, report.EndedTwice, engine)
		assert.Zero(t, report.Lateness.Early, engine)
	}
}

// ordersPlaced starts a shop that has said that all orders are placed, and not
// yet that all have their end. A machine may be too slow for that, so that a shop
// with more time has to follow.
func ordersPlaced(t *testing.T, binary, engine string) (p *process, checkAfter time.Duration) {
	for checkAfter = 2 * time.Second; ; checkAfter *= 2 {
		p = start(t, binary, ptr(""), "orders", "--json", "--orders", "2000", "--check-after", checkAfter.String(), "--paid", "50", "--engine", engine)
		if p.says("created 2,000") {
			return p, checkAfter
		}
		status, _ := p.end()
		require.Equal(t, 0, status, p.errOut.String())
	}
}

func soakSurvivesAPause(t *testing.T, binary string) {
	p := start(t, binary, ptr(""), "soak", "--json", "--for", "6s")
	time.Sleep(time.Second) // into some round, whichever
	p.freeze(t, 2*time.Second)
	status, out := p.end()
	assert.Equal(t, 0, status, p.errOut.String())
	checkSoaked(t, out, false)
}

func soakStops(t *testing.T, binary string) {
	p := start(t, binary, ptr(""), "soak", "--json", "--for", "1h")
	require.Eventually(t, func() bool { return strings.Contains(p.errOut.String(), "operations") },
		60*time.Second, 10*time.Millisecond)
	p.signal(t, syscall.SIGINT)
	status, out := p.end()
	assert.Equal(t, 130, status, p.errOut.String())
	checkSoaked(t, out, true)
}

// checkSoaked checks that out is the report of a soak in which nothing went
// wrong.
func checkSoaked(t *testing.T, out string, interrupted bool) {
	t.Helper()
	var report soak.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report), out)
	assert.Equal(t, interrupted, report.Interrupted)
	assert.Empty(t, report.Violations)
	require.Len(t, report.Engines, 3)
	accepted := int64(0) // of all: on a slow machine an engine's one round may be over before its callers begin
	for _, e := range report.Engines {
		assert.Positive(t, e.Rounds, e.Engine)
		assert.Equal(t, e.Accepted, e.Expired+e.Cancelled+e.Unprocessed, e.Engine)
		accepted += e.Accepted
	}
	assert.Positive(t, accepted)
}

func runStops(t *testing.T, binary string) {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := start(t, binary, ptr("at,id,delay,message\n0,now,0,\n0,hour,1h,much later\n2h,rest,5s,not even begun\nbad\n"), "run")
		assert.Contains(t, p.line(t), "now")
		p.signal(t, s)
		status, out := p.end()
		assert.Equal(t, 130, status)
		assert.Empty(t, out)
		errOut := p.errOut.String()
		assert.Contains(t, errOut, "stdin:5: wrong number of columns")
		assert.Regexp(t, `(?m)^ *(1h0m0s|59m\d+s)  hour +much later$`, errOut)
		assert.Regexp(t, `(?m)^ *(2h0m\ds|1h59m\d+s)  rest +\(not scheduled yet\) not even begun$`, errOut)
		assert.Contains(t, errOut, "scheduled 2, fired 1, cancelled 0, reset 0, bad rows 1, not fired 2\n")
	}
}

// runStopsWaiting interrupts a command that has read a line and waits for more,
// which it does silently: so the line is too long for the pipe, and once it is
// written it was read.
func runStopsWaiting(t *testing.T, binary string) {
	p := &process{Cmd: exec.Command(binary, "run", "-")}
	p.Stderr, p.WaitDelay = &p.errOut, 20*time.Second
	input, err := p.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	t.Cleanup(func() { p.Process.Kill() })
	_, err = io.WriteString(input, "id,delay\n# "+strings.Repeat("x", 1<<18)+"\n")
	require.NoError(t, err)
	p.signal(t, syscall.SIGINT)
	p.Wait()
	assert.Equal(t, 130, p.ProcessState.ExitCode(), p.errOut.String())
}

func runStopsCommands(t *testing.T, binary string) {
	marker := filepath.Join(t.TempDir(), "marker")
	script := `sh -c 'echo $HWT_ID up; sleep 3600; echo >` + marker + `'`
	p := start(t, binary, ptr("id,delay\na,0\nb,1ms\nc,2ms\n"), "run", "--jobs", "2", "--exec", script)
	up := 0
	for up < 2 {
		if strings.HasSuffix(p.line(t), " up\n") {
			up++
		}
	}
	p.signal(t, syscall.SIGINT)
	status, _ := p.end() // or else they sleep for an hour
	assert.Equal(t, 130, status)
	assert.Regexp(t, `(not fired 1, commands stopped 2|commands stopped 2, commands not run 1)\n$`, p.errOut.String(),
		"the third fired, or was about to")
	assert.NoFileExists(t, marker)
}

func runEndsWhenNobodyReads(t *testing.T, binary string) {
	p := &process{Cmd: exec.Command(binary, "run")}
	p.Stdin, p.Stderr = strings.NewReader("id,delay\na,1ms\nb,1h\n"), &p.errOut
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	reader.Close()
	p.Stdout = writer
	assert.Error(t, p.Run())
	writer.Close()
	assert.Equal(t, 1, p.ProcessState.ExitCode())
	assert.Contains(t, p.errOut.String(), "hwtdemo: writing the output: ")
	assert.Contains(t, p.errOut.String(), "broken pipe")
}

func nonsenseIsRefused(t *testing.T, binary string) {
	noise, err := os.ReadFile(binary)
	require.NoError(t, err)
	for _, format := range []string{"csv", "jsonl"} {
		p := start(t, binary, ptr(string(noise[:min(len(noise), 1<<20)])), "run", "--format", format)
		status, out := p.end()
		assert.Equal(t, 1, status, format)
		assert.Empty(t, out)
		assert.NotContains(t, p.errOut.String(), "panic")
	}
	p := start(t, binary, ptr(""), "orders", "--paid", "most")
	status, _ := p.end()
	assert.Equal(t, 2, status)
}

func shellOnlyIfNamed(t *testing.T, binary string) {
	marker := filepath.Join(t.TempDir(), "marker")
	input := "id,delay,message\na,0,$(touch " + marker + ")\n\"; touch " + marker + "\",0,`touch " + marker + "`\n"
	p := start(t, binary, &input, "run", "--exec", "echo $HWT_ID; touch "+marker)
	status, out := p.end()
	assert.Equal(t, 0, status, p.errOut.String())
	assert.Equal(t, 2, strings.Count(out, "$HWT_ID; touch "+marker+"\n"), out)
	assert.NoFileExists(t, marker)

	p = start(t, binary, ptr("id,delay,message\na,0,hello\n"), "run", "--exec", `sh -c "echo \"$HWT_MESSAGE from $HWT_ID\""`)
	status, out = p.end()
	assert.Equal(t, 0, status, p.errOut.String())
	assert.Contains(t, out, "hello from a\n")
}
