package jobs_test

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/jobs"
)

// The tests run their own binary as the command. TestMain then acts as the
// environment variable says.
const actAs = "HWT_TEST_ACT_AS"

// act is the command: it returns its exit status.
func act(as string) int {
	id, message := os.Getenv("HWT_ID"), os.Getenv("HWT_MESSAGE")
	switch as {
	case "printer":
		fmt.Printf("%s|%s|%s\n", id, message, strings.Join(os.Args[1:], "|"))
	case "failer":
		return 3
	case "sleeper":
		fmt.Println("asleep")
		time.Sleep(time.Minute)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("awake")
		time.Sleep(time.Minute)
	case "counter":
		return countPeers(os.Args[1], id)
	}
	return 0
}

// countPeers keeps a file while it runs, and writes how many such files there are.
// It waits until it or another has seen three.
func countPeers(dir, id string) int {
	mine, seen := filepath.Join(dir, "running-"+id), filepath.Join(dir, "three-seen")
	if os.WriteFile(mine, nil, 0o600) != nil {
		return 1
	}
	defer os.Remove(mine)
	for range 60_000 {
		peers, _ := filepath.Glob(filepath.Join(dir, "running-*"))
		if len(peers) >= 3 {
			os.WriteFile(seen, nil, 0o600)
		}
		if _, err := os.Stat(seen); err == nil {
			time.Sleep(50 * time.Millisecond) // room for more to appear
			peers, _ = filepath.Glob(filepath.Join(dir, "running-*"))
			fmt.Println(len(peers))
			return 0
		}
		time.Sleep(time.Millisecond)
	}
	return 2
}

// failures collects what a pool reports.
type failures struct {
	mu    sync.Mutex
	lines []string
}

func (f *failures) add(id string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, id+": "+err.Error())
}

// outcome returns a file for jobs to write to, and a function that reads it.
func outcome(t *testing.T) (*os.File, func() string) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "out")
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f, func() string {
		text, err := os.ReadFile(f.Name())
		require.NoError(t, err)
		return string(text)
	}
}

// commandThat returns this test binary as a command that acts in that way.
func commandThat(t *testing.T, as string, out *os.File, args ...string) jobs.Command {
	t.Helper()
	t.Setenv(actAs, as)
	self, err := os.Executable()
	require.NoError(t, err)
	return jobs.Command{Args: append([]string{self}, args...), Stdout: out, Stderr: out}
}

func TestJobsGetIDAndMessageInTheEnvironmentOnly(t *testing.T) {
	out, text := outcome(t)
	var failed failures
	p := jobs.New(commandThat(t, "printer", out, "$HWT_ID", "; rm *"), 1, failed.add)
	p.Submit("a", "$(touch x) `id` \"quoted\"\nline two")
	assert.Equal(t, jobs.Counts{Succeeded: 1}, p.Wait())
	assert.Equal(t, "a|$(touch x) `id` \"quoted\"\nline two|$HWT_ID|; rm *\n", text())
	assert.Empty(t, failed.lines)
}

func TestFailuresAreReportedWithIDAndStatus(t *testing.T) {
	out, _ := outcome(t)
	var failed failures
	p := jobs.New(commandThat(t, "failer", out), 2, failed.add)
	p.Submit("a", "")
	assert.Equal(t, jobs.Counts{Failed: 1}, p.Wait())
	assert.Equal(t, []string{"a: exit status 3"}, failed.lines)
}

func TestMissingCommandFails(t *testing.T) {
	var failed failures
	p := jobs.New(jobs.Command{Args: []string{"/nowhere/at/all"}}, 1, failed.add)
	p.Submit("a", "")
	assert.Equal(t, jobs.Counts{Failed: 1}, p.Wait())
	require.Len(t, failed.lines, 1)
	assert.Contains(t, failed.lines[0], "no such file")
}

func TestNoMoreJobsThanTheLimitRunAtOnce(t *testing.T) {
	out, text := outcome(t)
	var failed failures
	p := jobs.New(commandThat(t, "counter", out, t.TempDir()), 3, failed.add)
	for i := range 12 {
		p.Submit(fmt.Sprint(i), "")
	}
	assert.Equal(t, jobs.Counts{Succeeded: 12}, p.Wait())
	seen := strings.Fields(text())
	assert.Len(t, seen, 12)
	for _, text := range seen {
		n, err := strconv.Atoi(text)
		assert.NoError(t, err)
		assert.LessOrEqual(t, n, 3, "how many ran at once")
	}
}

func TestStopEndsJobsAndDropsTheQueue(t *testing.T) {
	out, text := outcome(t)
	var failed failures
	p := jobs.New(commandThat(t, "sleeper", out), 1, failed.add)
	p.Submit("a", "")
	p.Submit("b", "")
	require.Eventually(t, func() bool { return text() != "" }, 20*time.Second, time.Millisecond)
	p.Stop()
	assert.Equal(t, jobs.Counts{Stopped: 1, NotRun: 1}, p.Wait())
	require.Len(t, failed.lines, 1)
	assert.Contains(t, failed.lines[0], "a: stopped")
}

// This takes the two seconds of grace that such a job gets.
func TestJobThatDoesNotEndIsKilled(t *testing.T) {
	out, text := outcome(t)
	var failed failures
	p := jobs.New(commandThat(t, "stubborn", out), 1, failed.add)
	p.Submit("a", "")
	require.Eventually(t, func() bool { return text() != "" }, 20*time.Second, time.Millisecond)
	p.Stop()
	assert.Equal(t, jobs.Counts{Stopped: 1}, p.Wait())
	assert.Equal(t, []string{"a: stopped (signal: killed)"}, failed.lines)
}

func TestCommandLinesAreSplitAtBlanksOutsideQuotes(t *testing.T) {
	for line, want := range map[string][]string{
		"notify":                       {"notify"},
		" notify  -u low ":             {"notify", "-u", "low"},
		`sh -c 'echo "$HWT_ID" >>log'`: {"sh", "-c", `echo "$HWT_ID" >>log`},
		`sh -c "echo \"$HWT_ID\""`:     {"sh", "-c", `echo "$HWT_ID"`},
		`a "" ''`:                      {"a", "", ""},
		`a"b c"d`:                      {"ab cd"},
		`my\ prog 'it'\''s'`:           {"my prog", "it's"},
		`'a\'`:                         {`a\`},
		`echo $HOME *`:                 {"echo", "$HOME", "*"},
		"echo `date` $(date)":          {"echo", "`date`", "$(date)"},
		`curl 'http://x/?a=1&b=2'`:     {"curl", "http://x/?a=1&b=2"},
	} {
		words, err := jobs.Split(line)
		assert.NoError(t, err)
		assert.Equal(t, want, words, "%q", line)
	}
}

func TestCommandLinesThatNeedAShellAreRefused(t *testing.T) {
	const noShell = "there is no shell that could interpret "
	for line, want := range map[string]string{
		"":            "must name a command",
		"  \t ":       "must name a command",
		`""`:          "must name a command",
		`"`:           "a quote is not closed, or ",
		`a 'b`:        "a quote is not closed, or ",
		`(a)`:         "a parenthesis stands outside quotes",
		`a; b`:        noShell + `"; b"`,
		`a | b`:       noShell + `"| b"`,
		`a && b`:      noShell + `"&& b"`,
		`größer 2>&1`: noShell + `"2>&1"`,
	} {
		_, err := jobs.Split(line)
		assert.ErrorContains(t, err, want, "%q", line)
	}
}
