package idle_test

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/idle"
)

func TestBlockedTransferReturnsErrIdle(t *testing.T) {
	r := newReaper(t, newTimer(t, time.Millisecond), 300*time.Millisecond)
	_, source := tcpPair(t)
	defer source.Close()
	client, server := narrowPair(t)
	defer client.Close()
	dst, src := r.Wrap(server), r.Wrap(source)
	_, err := io.Copy(dst, src)
	assert.ErrorIs(t, err, idle.ErrIdle)

	client, server = narrowPair(t)
	defer client.Close()
	_, err = io.Copy(r.Wrap(server), file(t, 16<<20)) // the client does not read
	assert.ErrorIs(t, err, idle.ErrIdle)
	client, server = narrowPair(t)
	defer client.Close()
	_, err = r.Wrap(server).Write(random(16 << 20))
	assert.ErrorIs(t, err, idle.ErrIdle)
}

// narrowPair is tcpPair with small buffers.
func narrowPair(t testing.TB) (client, server net.Conn) {
	client, server = tcpPair(t)
	require.NoError(t, client.(*net.TCPConn).SetReadBuffer(32<<10))
	require.NoError(t, server.(*net.TCPConn).SetWriteBuffer(32<<10))
	return client, server
}

// TestTrickleKeepsATransfer sends single bytes through a proxy that copies inside the
// kernel.
func TestTrickleKeepsATransfer(t *testing.T) {
	r := newReaper(t, newTimer(t, time.Millisecond), time.Hour)
	in, inServer := tcpPair(t)
	defer in.Close()
	out, outServer := tcpPair(t)
	defer out.Close()
	src, dst := r.Wrap(inServer), r.Wrap(outServer)
	done := make(chan error)
	go func() {
		_, err := io.Copy(dst, src)
		done <- err
	}()
	for range 20 {
		before := time.Now()
		_, err := in.Write([]byte("x"))
		require.NoError(t, err)
		_, err = out.Read(make([]byte, 1))
		require.NoError(t, err)
		countsSince(t, before, src)
		countsSince(t, before, dst)
	}
	idle.WatchOf(src).SetTimeout(20 * time.Millisecond)
	assert.ErrorIs(t, <-done, idle.ErrIdle, "it is idle after the last byte")
	src.Close()
	dst.Close()
}

// TestTricklingPipeKeepsATransfer reads from a file of unknown length.
func TestTricklingPipeKeepsATransfer(t *testing.T) {
	r := newReaper(t, newTimer(t, time.Millisecond), time.Hour)
	client, server := tcpPair(t)
	defer client.Close()
	dst := r.Wrap(server)
	defer dst.Close()
	from, to, err := os.Pipe()
	require.NoError(t, err)
	defer from.Close()
	done := make(chan error)
	go func() {
		_, err := io.Copy(dst, from)
		done <- err
	}()
	for range 5 {
		before := time.Now()
		_, err := to.WriteString("x")
		require.NoError(t, err)
		countsSince(t, before, dst)
	}
	require.NoError(t, to.Close())
	assert.NoError(t, <-done)
}

// TestSlowReaderKeepsATransfer slowly reads a long write and a long file in parts.
// Each part is longer than a piece and all buffers on the way.
func TestSlowReaderKeepsATransfer(t *testing.T) {
	const bit, n = 2 << 20, 16 << 20
	for name, send := range sendings(t, n) {
		t.Run(name, func(t *testing.T) {
			r := newReaper(t, newTimer(t, time.Millisecond), time.Hour)
			client, server := narrowPair(t)
			defer client.Close()
			c := r.Wrap(server)
			defer c.Close()
			sent := make(chan error, 1)
			go func() { sent <- send(c) }()
			for range n / bit {
				before := time.Now()
				_, err := io.ReadFull(client, make([]byte, bit))
				require.NoError(t, err)
				countsSince(t, before, c)
			}
			assert.NoError(t, <-sent)
		})
	}
}
