package pgtest_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// echo starts a server that answers each line with its name and the line.
func echo(t *testing.T, name string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					fmt.Fprintln(c, name, lines.Text())
				}
			}()
		}
	}()
	return l.Addr().String()
}

type caller struct {
	t     *testing.T
	conn  net.Conn
	lines *bufio.Reader
}

func newProxy(t *testing.T, target string) (*pgtest.Proxy, func() *caller) {
	p, err := pgtest.NewProxy(target)
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	return p, func() *caller {
		c, err := net.Dial("tcp", p.Address())
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		return &caller{t, c, bufio.NewReader(c)}
	}
}

func (c *caller) say(text string) { fmt.Fprintln(c.conn, text) }

func (c *caller) hear(within time.Duration) (string, error) {
	require.NoError(c.t, c.conn.SetReadDeadline(time.Now().Add(within)))
	line, err := c.lines.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

func (c *caller) requireAnswer(want string) {
	c.t.Helper()
	got, err := c.hear(20 * time.Second)
	require.NoError(c.t, err)
	require.Equal(c.t, want, got)
}

func TestProxyHoldsAndDelaysData(t *testing.T) {
	p, dial := newProxy(t, echo(t, "a"))
	c := dial()
	c.say("1")
	c.requireAnswer("a 1")
	require.Zero(t, p.Waited())
	p.Hold()
	c.say("2")
	_, err := c.hear(50 * time.Millisecond)
	require.Error(t, err)
	p.Release()
	c.requireAnswer("a 2")
	p.Delay(100 * time.Millisecond)
	begun := time.Now()
	c.say("3")
	c.requireAnswer("a 3")
	require.GreaterOrEqual(t, time.Since(begun), 100*time.Millisecond)
	require.Positive(t, p.Waited())
}

func TestProxyCutsAndRetargets(t *testing.T) {
	p, dial := newProxy(t, echo(t, "a"))
	c := dial()
	c.say("1")
	c.requireAnswer("a 1")
	p.Retarget(echo(t, "b"))
	_, err := c.hear(20 * time.Second)
	require.Error(t, err)
	c = dial()
	c.say("2")
	c.requireAnswer("b 2")
	require.Equal(t, 1, p.Cut())
}

func TestProxyLosesTheAnswerOnly(t *testing.T) {
	p, dial := newProxy(t, echo(t, "a"))
	var got []string
	p.Lose(func(request []byte) bool { got = append(got, string(request)); return true })
	c := dial()
	c.say("COMMIT")
	answer, err := c.hear(20 * time.Second)
	require.Error(t, err)
	require.NotErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Empty(t, answer)
	p.Lose(nil)
	require.Equal(t, []string{"COMMIT\n"}, got)
	c = dial()
	c.say("1")
	c.requireAnswer("a 1")
}
