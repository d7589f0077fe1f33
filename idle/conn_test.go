package idle_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// can returns which methods beyond net.Conn a connection has.
func can(c any) map[string]bool {
	_, raw := c.(syscall.Conn)
	_, closesRead := c.(interface{ CloseRead() error })
	_, closesWrite := c.(interface{ CloseWrite() error })
	_, readsFrom := c.(io.ReaderFrom)
	_, writesTo := c.(io.WriterTo)
	return map[string]bool{"SyscallConn": raw, "CloseRead": closesRead, "CloseWrite": closesWrite,
		"ReadFrom": readsFrom, "WriteTo": writesTo}
}

func TestWrapperHasTheMethodsOfItsConnection(t *testing.T) {
	r := newReaper(t, newTimer(t, second), time.Hour)
	near, _ := pipe(t)
	for _, c := range []net.Conn{
		&net.TCPConn{}, &net.UnixConn{}, &net.UDPConn{}, &net.IPConn{}, &tls.Conn{}, near,
		struct{ net.Conn }{near}, struct{ *net.TCPConn }{&net.TCPConn{}},
	} {
		wrapped := r.Wrap(c)
		assert.Equal(t, can(c), can(wrapped), "%T", c)
		assert.Equal(t, c, wrapped.(interface{ NetConn() net.Conn }).NetConn())
		idle.WatchOf(wrapped).Stop()
	}
}

func TestUnopenedConnectionReturnsItsOwnError(t *testing.T) {
	r := newReaper(t, newTimer(t, second), time.Hour)
	client, server := tcpPair(t)
	defer client.Close()
	c := r.Wrap(server)
	defer c.Close()
	for _, never := range []net.Conn{&net.TCPConn{}, &net.UnixConn{}} {
		_, err := io.Copy(c, never)
		assert.ErrorIs(t, err, syscall.EINVAL)
		_, err = io.Copy(c, r.Wrap(never))
		assert.ErrorIs(t, err, syscall.EINVAL)
		_, err = r.Wrap(never).Write([]byte("x"))
		assert.ErrorIs(t, err, syscall.EINVAL)
	}
}

// onlyReadsFrom has ReadFrom, without the methods that usually come with it.
type onlyReadsFrom struct{ net.Conn }

func (onlyReadsFrom) ReadFrom(io.Reader) (int64, error) { return 0, nil }

func TestWrapperHasNoOtherMethods(t *testing.T) {
	r := newReaper(t, newTimer(t, second), time.Hour)
	near, _ := pipe(t)
	has := can(onlyReadsFrom{near})
	for method, ok := range can(r.Wrap(onlyReadsFrom{near})) {
		assert.True(t, !ok || has[method], method)
	}
}

func TestCloseInterruptsARead(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t, second)
		r := newReaper(t, timer, 10*second)
		near, _ := pipe(t)
		c := r.Wrap(near)
		start := time.Now()
		_, err := c.Read(make([]byte, 1))
		assert.ErrorIs(t, err, idle.ErrIdle)
		assert.ErrorIs(t, err, io.ErrClosedPipe)
		assert.GreaterOrEqual(t, time.Since(start), 10*second)
		assert.LessOrEqual(t, time.Since(start), 11*second)
		_, err = c.Write([]byte("x"))
		assert.ErrorIs(t, err, idle.ErrIdle)
		assert.NoError(t, c.Close(), "a pipe may be closed twice")
		assert.ErrorIs(t, idle.WatchOf(c).Err(), idle.ErrIdle)
		assert.Zero(t, timer.Pending())
	})
}

func TestErrorsOfAClosedTCPConnection(t *testing.T) {
	r := newReaper(t, newTimer(t, time.Millisecond), 5*time.Millisecond)
	client, server := tcpPair(t)
	defer client.Close()
	c := r.Wrap(server)
	_, err := c.Read(make([]byte, 1))
	assert.ErrorIs(t, err, idle.ErrIdle)
	assert.ErrorIs(t, err, net.ErrClosed)
	var op *net.OpError
	assert.ErrorAs(t, err, &op)
	ne, ok := err.(net.Error)
	require.True(t, ok)
	assert.False(t, ne.Timeout())
	assert.Contains(t, err.Error(), "idle: closed because of inactivity: ")
	_, err = c.(io.ReaderFrom).ReadFrom(file(t, 10))
	assert.ErrorIs(t, err, idle.ErrIdle)
	assert.ErrorIs(t, c.Close(), idle.ErrIdle)
}

func TestActivity(t *testing.T) {
	for _, c := range []struct {
		activity     idle.Activity
		reads, kills bool
	}{
		{idle.ActivityRead, true, false}, {idle.ActivityRead, false, true},
		{idle.ActivityWrite, true, true}, {idle.ActivityWrite, false, false},
		{idle.ActivityRead | idle.ActivityWrite, true, false}, {idle.ActivityRead | idle.ActivityWrite, false, false},
	} {
		enginetest.Bubble(t, func(t *testing.T) {
			r := newReaper(t, newTimer(t, second), 10*second, &idle.Options{Activity: c.activity})
			near, far := pipe(t)
			wrapped := r.Wrap(near)
			from, to := net.Conn(far), wrapped
			if !c.reads {
				from, to = wrapped, far
			}
			go func() {
				for range 10 {
					time.Sleep(4 * second)
					from.Write([]byte("x"))
				}
			}()
			go io.Copy(io.Discard, to)
			time.Sleep(38 * second)
			assert.Equal(t, c.kills, idle.WatchOf(wrapped).Err() != nil, "%+v", c)
			far.Close()
			wrapped.Close()
			time.Sleep(10 * second) // the writer ends
		})
	}
}

func TestOccasionalBytesKeepAConnection(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) { // slow loris
		r := newReaper(t, newTimer(t, second), 10*second, &idle.Options{Activity: idle.ActivityRead})
		near, far := pipe(t)
		wrapped := r.Wrap(near)
		go func() {
			for range 100 {
				time.Sleep(9500 * time.Millisecond)
				far.Write([]byte("x"))
			}
		}()
		start := time.Now()
		n, err := io.Copy(io.Discard, wrapped)
		assert.EqualValues(t, 100, n)
		assert.ErrorIs(t, err, idle.ErrIdle)
		assert.InDelta(t, 960, time.Since(start).Seconds(), 1)
	})
}

func TestMaxAgeEndsASlowLoris(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, newTimer(t, second), 10*second, &idle.Options{MaxAge: time.Minute})
		near, far := pipe(t)
		wrapped := r.Wrap(near)
		go func() {
			for {
				time.Sleep(second)
				if _, err := far.Write([]byte("x")); err != nil {
					return
				}
			}
		}()
		_, err := io.Copy(io.Discard, wrapped)
		assert.ErrorIs(t, err, idle.ErrTooOld)
		time.Sleep(2 * second) // the writer ends
	})
}

func TestDeadlinesAreTheConnectionsOwn(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, newTimer(t, second), 10*second)
		near, _ := pipe(t)
		wrapped := r.Wrap(near)
		require.NoError(t, wrapped.SetReadDeadline(time.Now().Add(second)))
		_, err := wrapped.Read(make([]byte, 1))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.NotErrorIs(t, err, idle.ErrIdle)
		require.NoError(t, wrapped.SetDeadline(time.Time{}))
		require.NoError(t, wrapped.SetWriteDeadline(time.Now().Add(second)))
		_, err = wrapped.Write([]byte("x"))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		wrapped.Close()
	})
}

func TestReadWithoutBytesIsNotActivity(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, newTimer(t, second), 10*second)
		near, _ := pipe(t)
		c := r.Wrap(near)
		start := time.Now()
		for idle.WatchOf(c).Err() == nil {
			if c.SetReadDeadline(time.Now().Add(second/2)) == nil {
				c.Read(make([]byte, 1))
			}
			require.LessOrEqual(t, time.Since(start), 12*second)
		}
	})
}

// ended is a connection whose peer has closed it.
type ended struct{ net.Conn }

func (ended) Read([]byte) (int, error) { return 0, io.EOF }

func TestEndOfFileIsNotWrapped(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, newTimer(t, second), 10*second)
		near, _ := pipe(t)
		c := r.Wrap(ended{near})
		time.Sleep(20 * second)
		require.ErrorIs(t, idle.WatchOf(c).Err(), idle.ErrIdle)
		_, err := c.Read(make([]byte, 1))
		assert.True(t, err == io.EOF, "as code compares it")
	})
}

func TestCloseByTheUserEndsTheWatch(t *testing.T) {
	timer := newTimer(t, second)
	r := newReaper(t, timer, time.Hour)
	client, server := tcpPair(t)
	defer client.Close()
	c := r.Wrap(server)
	assert.EqualValues(t, 1, timer.Pending())
	require.NoError(t, c.Close())
	assert.Zero(t, timer.Pending())
	assert.EqualValues(t, 1, conserved(t, r).Stopped)
	assert.NoError(t, idle.WatchOf(c).Err())
	_, err := c.Read(make([]byte, 1))
	assert.ErrorIs(t, err, net.ErrClosed)
	assert.NotErrorIs(t, err, idle.ErrIdle)
}

func TestHalfClosedConnectionIsWatched(t *testing.T) {
	r := newReaper(t, newTimer(t, time.Millisecond), time.Hour)
	client, server := tcpPair(t)
	defer client.Close()
	c := r.Wrap(server)
	require.NoError(t, c.(interface{ CloseWrite() error }).CloseWrite())
	n, err := client.Read(make([]byte, 1))
	assert.Zero(t, n)
	assert.Equal(t, io.EOF, err)
	_, err = client.Write([]byte("still there"))
	require.NoError(t, err)
	before := time.Now()
	n, err = c.Read(make([]byte, 20))
	assert.Equal(t, 11, n)
	require.NoError(t, err)
	countsSince(t, before, c)
	idle.WatchOf(c).SetTimeout(50 * time.Millisecond)
	_, err = c.Read(make([]byte, 20))
	assert.ErrorIs(t, err, idle.ErrIdle)
}

func TestPeerThatClosedItsSideIsIdle(t *testing.T) {
	r := newReaper(t, newTimer(t, time.Millisecond), time.Hour)
	client, server := tcpPair(t)
	defer client.Close()
	c := r.Wrap(server)
	require.NoError(t, client.(*net.TCPConn).CloseWrite())
	_, err := c.Read(make([]byte, 1))
	assert.Equal(t, io.EOF, err, "io.EOF is not wrapped")
	idle.WatchOf(c).SetTimeout(20 * time.Millisecond)
	eventually(t, func() bool { return errors.Is(idle.WatchOf(c).Err(), idle.ErrIdle) })
	_, err = client.Read(make([]byte, 1))
	assert.Equal(t, io.EOF, err, "closed")
}

func TestRawConnectionAndCloseRead(t *testing.T) {
	r := newReaper(t, newTimer(t, second), time.Hour)
	client, server := tcpPair(t)
	defer client.Close()
	c := r.Wrap(server)
	defer c.Close()
	raw, err := c.(syscall.Conn).SyscallConn()
	require.NoError(t, err)
	var fd uintptr
	require.NoError(t, raw.Control(func(f uintptr) { fd = f }))
	assert.NotZero(t, fd)
	require.NoError(t, c.(interface{ CloseRead() error }).CloseRead())
	_, err = c.Read(make([]byte, 1))
	assert.Equal(t, io.EOF, err)
}

func TestOnlyStreamsAreWrittenInPieces(t *testing.T) {
	client, _ := unixPair(t)
	near, _ := pipe(t)
	for c, want := range map[net.Conn]bool{
		&net.TCPConn{}: true, &tls.Conn{}: true, client: true, struct{ *net.TCPConn }{&net.TCPConn{}}: true,
		&net.UnixConn{}: false, &net.UDPConn{}: false, &net.IPConn{}: false, near: false, struct{ net.Conn }{near}: false,
	} {
		assert.Equal(t, want, idle.IsStream(c), "%T", c)
	}
}

func TestDatagramsKeepTheirBoundaries(t *testing.T) {
	timer := newTimer(t, second)
	timer.Stop()                             // so that it is not closed
	r := newReaper(t, timer, 10*time.Second, // a piece would be shorter than the datagram
		&idle.Options{ErrorHandler: func(error) {}})
	l, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer l.Close()
	c, err := net.Dial("udp", l.LocalAddr().String())
	require.NoError(t, err)
	wrapped := r.Wrap(c)
	defer wrapped.Close()
	n, err := wrapped.Write(make([]byte, 60_000))
	require.NoError(t, err)
	assert.Equal(t, 60_000, n)
	n, err = l.Read(make([]byte, 70_000))
	require.NoError(t, err)
	assert.Equal(t, 60_000, n)
}

// unixPair returns both ends of a Unix socket.
func unixPair(t testing.TB) (client, server net.Conn) {
	l, err := net.Listen("unix", t.TempDir()+"/s")
	require.NoError(t, err)
	defer l.Close()
	client, err = net.Dial("unix", l.Addr().String())
	require.NoError(t, err)
	server, err = l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() {
		client.Close()
		server.Close()
	})
	return client, server
}
