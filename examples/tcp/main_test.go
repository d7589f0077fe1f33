package main

import (
	"context"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/idle"
)

// The tests use real connections and therefore the real clock. They do not depend on
// durations.

// flaky is a listener whose first Accept fails.
type flaky struct {
	net.Listener
	failed bool
}

func (f *flaky) Accept() (net.Conn, error) {
	if !f.failed {
		f.failed = true
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return f.Listener.Accept()
}

// start runs the server, and returns its address, the reasons of its closes, and a
// function that acts like Ctrl-C.
func start(t *testing.T, timeout, age time.Duration) (addr string, closed <-chan error, stop func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	listener = &flaky{Listener: listener}
	ctx, cancel := context.WithCancel(t.Context())
	reasons, ended := make(chan error, 10), make(chan error, 1)
	go func() {
		ended <- serve(ctx, listener, timeout, age, func(e idle.Event) { reasons <- e.Reason })
	}()
	return listener.Addr().String(), reasons, func() {
		cancel()
		assert.NoError(t, <-ended)
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	addr, closed, stop := start(t, 50*time.Millisecond, time.Hour)
	defer stop()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "hello")
	require.NoError(t, err)
	echo, _ := io.ReadAll(conn)
	assert.Equal(t, "hello", string(echo))
	assert.ErrorIs(t, <-closed, idle.ErrIdle)
}

func TestActiveConnectionIsClosedAtItsMaximumAge(t *testing.T) {
	addr, closed, stop := start(t, time.Hour, 50*time.Millisecond)
	defer stop()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	for err == nil {
		if _, err = io.WriteString(conn, "x"); err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
	}
	assert.ErrorIs(t, <-closed, idle.ErrTooOld)
}

func TestInterruptClosesConnections(t *testing.T) {
	addr, _, stop := start(t, time.Hour, time.Hour)
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "x")
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1)) // The server has accepted the connection.
	require.NoError(t, err)
	stop()
	_, err = conn.Read(make([]byte, 1))
	assert.Error(t, err)
}
