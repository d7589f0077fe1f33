package pgtest_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

func TestServerEndsWithTheProcessThatStartedIt(t *testing.T) {
	if os.Getenv("PGTEST_STARTER") != "" {
		s, err := pgtest.Start(t.Context(), nil)
		if errors.Is(err, pgtest.ErrNotInstalled) {
			fmt.Println("address none")
			return
		}
		require.NoError(t, err)
		fmt.Println("address", s.Address())
		select {} // until it is killed
	}
	dir, err := os.MkdirTemp("", "pgtest-starter-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	starter := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	starter.Env = append(os.Environ(), "PGTEST_STARTER=1", "TMPDIR="+dir)
	out, err := starter.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, starter.Start())
	t.Cleanup(func() { starter.Process.Kill(); starter.Wait() })
	var address string
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "address "); ok {
			address = rest
		}
	}
	if address == "none" {
		t.Skip(pgtest.ErrNotInstalled)
	}
	dial := func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	require.True(t, dial(), address)
	require.NoError(t, starter.Process.Kill())
	require.Eventually(t, func() bool { return !dial() }, 30*time.Second, 20*time.Millisecond)
	require.Eventually(t, func() bool { return os.RemoveAll(dir) == nil }, 30*time.Second, 20*time.Millisecond)
}
