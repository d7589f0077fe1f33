package echo_test

import (
	"context"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/echo"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/idle"
)

// These tests use the loopback interface and the real clock, with few connections.

var small = echo.Config{Listen: "127.0.0.1:0", IdleAfter: 300 * time.Millisecond, Connections: 60, Talkers: 50,
	Talk: 200 * time.Millisecond, Seed: 3}

func newTimer(t *testing.T) hwt.Timer {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	return timer
}

func TestSilentConnectionsAreClosedOnTime(t *testing.T) {
	demo, err := echo.New(small, newTimer(t))
	require.NoError(t, err)
	report, err := demo.Run(context.Background())
	require.NoError(t, err)
	require.NoError(t, report.Err())
	assert.EqualValues(t, 60, report.Opened)
	assert.Positive(t, report.Silent)
	assert.Less(t, report.Silent, report.Opened)
	assert.LessOrEqual(t, report.Silent+report.ReapedTalkers, report.Reaped, "a talker may be closed as it ends")
	assert.LessOrEqual(t, report.Reaped, report.Opened)
	assert.Zero(t, report.Early)
	assert.Zero(t, report.Left)
	assert.Equal(t, report.Reaped, report.Lateness.Count)
	assert.Contains(t, report.Text(), "left                      0   silent and still open; must be 0\n")
	p := demo.Progress()
	assert.Zero(t, p.Open)
}

func TestAddressWithoutAHostIsLoopback(t *testing.T) {
	server, err := echo.Listen(":0", newTimer(t), time.Minute, nil)
	require.NoError(t, err)
	go server.Serve()
	defer server.Close()
	assert.True(t, server.Addr().(*net.TCPAddr).IP.IsLoopback(), server.Addr())
}

// A client takes an echo as proof that the idle timeout began anew.
func TestMessageAfterTheIdleTimeoutGetsNoEcho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expired, closing := make(chan struct{}), make(chan struct{})
		reaper, err := idle.New(newTimer(t), time.Second, &idle.Options{OnExpire: func(idle.Event) {
			close(expired)
			<-closing
		}})
		require.NoError(t, err)
		client, server := net.Pipe()
		done := make(chan error)
		go func() { done <- echo.Echo(reaper.Wrap(server)) }()
		<-expired
		_, err = client.Write([]byte("late"))
		require.NoError(t, err)
		require.NoError(t, client.SetReadDeadline(time.Now().Add(time.Second)))
		n, _ := client.Read(make([]byte, 4))
		assert.Zero(t, n)
		close(closing)
		assert.ErrorIs(t, <-done, idle.ErrIdle)
	})
}

func TestInterruptEndsTheDemo(t *testing.T) {
	c := small
	c.IdleAfter = time.Hour
	demo, err := echo.New(c, newTimer(t))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(300*time.Millisecond, cancel)
	report, err := demo.Run(ctx)
	require.NoError(t, err)
	assert.True(t, report.Interrupted)
	assert.NoError(t, report.Err())
	assert.NotContains(t, report.Text(), "Lateness", "nothing was closed")
	assert.Equal(t, report.Silent, report.Left)
	assert.Contains(t, report.Text(), "Interrupted after ")
}

// hasty is a timer that runs all tasks too early.
type hasty struct{ hwt.Timer }

func (h hasty) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	return h.Timer.NewTimeout(task, delay/10)
}

// The reaper checks the time itself when the timer fires.
func TestHastyTimerClosesNoConnectionEarly(t *testing.T) {
	demo, err := echo.New(small, hasty{newTimer(t)})
	require.NoError(t, err)
	report, err := demo.Run(context.Background())
	require.NoError(t, err)
	assert.NoError(t, report.Err())
}

func TestUnfairServerIsDetected(t *testing.T) {
	c := small
	c.IdleAfter = time.Hour
	c.Talk = 0
	demo, err := echo.NewUnfair(c, 50*time.Millisecond, newTimer(t))
	require.NoError(t, err)
	report, err := demo.Run(context.Background())
	require.NoError(t, err)
	assert.GreaterOrEqual(t, report.Early, report.Silent)
	assert.ErrorContains(t, report.Err(), "connections were closed early")
}

func TestFaultsAreNamed(t *testing.T) {
	assert.EqualError(t, (&echo.Report{Early: 2}).Err(), "2 connections were closed early")
	assert.EqualError(t, (&echo.Report{Left: 3}).Err(), "3 silent connections are left")
	assert.NoError(t, (&echo.Report{Left: 3, Interrupted: true}).Err())
}

func TestAddressInUseIsAnError(t *testing.T) {
	server, err := echo.Listen("127.0.0.1:0", newTimer(t), time.Hour, nil)
	require.NoError(t, err)
	go server.Serve()
	defer server.Close()
	c := small
	c.Listen = server.Addr().String()
	_, err = echo.New(c, newTimer(t))
	assert.ErrorContains(t, err, "address already in use")
}

func TestConnectionsFitTheOpenFileLimit(t *testing.T) {
	for _, c := range []struct {
		wanted int
		limit  uint64
		fits   int
	}{{10_000, 1 << 20, 10_000}, {10_000, 20_000, 9968}, {10, 84, 10}, {10, 64, 1}, {10, 3, 1}, {10, 1<<64 - 1, 10}} {
		assert.Equal(t, c.fits, echo.FitWithin(c.wanted, c.limit), "%+v", c)
	}
	connections, limit := echo.Fit(1)
	assert.Equal(t, 1, connections)
	t.Log("the limit here is", limit)
}

func TestCloseClosesTheConnections(t *testing.T) {
	server, err := echo.Listen("127.0.0.1:0", newTimer(t), time.Hour, nil)
	require.NoError(t, err)
	served := make(chan error)
	go func() { served <- server.Serve() }()
	c := dial(t, server)
	_, err = c.Write([]byte("hello"))
	require.NoError(t, err)
	p := make([]byte, 10)
	n, err := c.Read(p)
	require.NoError(t, err)
	assert.Equal(t, "hello", string(p[:n]))
	server.Close()
	assert.NoError(t, <-served)
	_, err = c.Read(p)
	assert.Error(t, err)
	assert.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

func dial(t *testing.T, server *echo.Server) net.Conn {
	c, err := net.Dial("tcp", server.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
	return c
}
