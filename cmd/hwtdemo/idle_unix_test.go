//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/echo"
)

func TestIdleEndToEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	binary := build(t)
	t.Run("serve only", func(t *testing.T) { idleServes(t, binary) })
	t.Run("interrupt", func(t *testing.T) { idleStops(t, binary) })
}

func TestIdleKeepsToTheLimitOfOpenFiles(t *testing.T) {
	for connections, want := range map[string]string{
		"100": "The limit of 100 open files allows 18 connections with both their ends, not 100.\n",
		"18":  "The limit of 100 open files allows all 18 connections.\n",
	} {
		cmd := exec.Command("sh", "-c", `ulimit -n 100 && exec "$0" "$@"`, os.Args[0],
			"idle", "--json", "--connections", connections, "--idle-after", "100ms", "--talk", "0", "--talkers", "0")
		cmd.Env = append(os.Environ(), "HWT_TEST_ACT_AS=hwtdemo")
		var errOut transcript
		cmd.Stderr = &errOut
		out, err := cmd.Output()
		require.NoError(t, err, errOut.String())
		assert.Contains(t, errOut.String(), want)
		var report echo.Report
		require.NoError(t, json.Unmarshal(out, &report))
		assert.EqualValues(t, 18, report.Reaped)
	}
}

func idleServes(t *testing.T, binary string) {
	p := start(t, binary, ptr(""), "idle", "--serve-only", "--idle-after", "300ms", "--tick", "10ms")
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(p.line(t))
	talked := 0
	for try := 0; try < 20 && talked == 0; try++ { // until the machine is fast enough to send a message in time
		c, err := net.Dial("tcp", address)
		require.NoError(t, err)
		began := time.Now()
		_, err = io.WriteString(c, "hello\n")
		require.NoError(t, err)
		heard, err := io.ReadAll(c)
		if string(heard) == "hello\n" {
			talked++
			assert.NoError(t, err)
			assert.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
		}
		assert.Regexp(t, `^`+c.LocalAddr().String()+` was silent for .*: closed\n$`, p.line(t))
		c.Close()
	}
	assert.Positive(t, talked, "it echoes")
	p.signal(t, syscall.SIGTERM)
	status, _ := p.end()
	assert.Equal(t, 130, status)
	assert.Empty(t, p.errOut.String())
}

func idleStops(t *testing.T, binary string) {
	p := start(t, binary, ptr(""), "idle", "--connections", "20", "--idle-after", "1h")
	require.Eventually(t, func() bool { return regexp.MustCompile(`open 20  `).MatchString(p.errOut.String()) },
		20*time.Second, 10*time.Millisecond)
	p.signal(t, syscall.SIGINT)
	status, out := p.end()
	assert.Equal(t, 130, status)
	assert.Contains(t, out, "Interrupted after ")
}
