package idle_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// pieces cuts p at random into buffers, some of them empty or long.
func pieces(p []byte, longest int) (v net.Buffers) {
	for len(p) > 0 {
		n := min(rand.IntN(longest), len(p))
		v, p = append(v, p[:n]), p[n:]
	}
	return v
}

func TestBuffersArriveWhole(t *testing.T) {
	const n = 100 << 10
	r := newReaper(t, newTimer(t, second), time.Hour)
	for name, pair := range map[string]func(testing.TB) (net.Conn, net.Conn){"tcp": tcpPair, "unix": unixPair} {
		for _, longest := range []int{2, 1000, 100 << 10} {
			for _, watched := range []bool{true, false} {
				t.Run(name, func(t *testing.T) {
					client, server := pair(t)
					defer client.Close()
					got := received(client)
					c := server
					if watched {
						c = r.Wrap(server)
					}
					before := time.Now()
					v := append(pieces(random(n), longest), nil)
					written, err := idle.WriteBuffers(c, &v)
					require.NoError(t, err)
					assert.EqualValues(t, n, written)
					assert.Empty(t, v)
					if watched {
						countsSince(t, before, c)
					}
					require.NoError(t, c.Close())
					assert.True(t, bytes.Equal(random(n), <-got))
				})
			}
		}
	}
}

// TestBuffersThatDoNotCountGoInOnePiece includes a datagram.
func TestBuffersThatDoNotCountGoInOnePiece(t *testing.T) {
	r := newReaper(t, newTimer(t, second), time.Hour)
	l, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer l.Close()
	near, err := net.Dial("udp", l.LocalAddr().String())
	require.NoError(t, err)
	c := r.Wrap(near)
	defer c.Close()
	before := time.Now()
	v := pieces(random(50_000), 10_000)
	n, err := idle.WriteBuffers(c, &v)
	require.NoError(t, err)
	assert.EqualValues(t, 50_000, n)
	countsSince(t, before, c)
	got := make([]byte, 60_000)
	m, err := l.Read(got)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(random(50_000), got[:m]))
}

func TestEmptyBuffersWriteNothing(t *testing.T) {
	r := newReaper(t, newTimer(t, second), time.Hour)
	client, server := tcpPair(t)
	defer client.Close()
	c := r.Wrap(server)
	defer c.Close()
	for _, v := range []net.Buffers{nil, {nil}, {nil, {}}} {
		n, err := idle.WriteBuffers(c, &v)
		assert.Zero(t, n)
		assert.NoError(t, err)
	}
}

// short is a connection that fails when it has taken left bytes.
type short struct {
	stream
	left int
}

func (c *short) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	if c.left -= n; n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

func TestFailedWriteLeavesTheRestInTheBuffers(t *testing.T) {
	r := newReaper(t, newTimer(t, second), time.Hour)
	want := random(200 << 10)
	for range 200 {
		taken := rand.IntN(len(want))
		v := pieces(want, 1+rand.IntN(100<<10))
		c := r.Wrap(&short{left: taken})
		n, err := idle.WriteBuffers(c, &v)
		require.ErrorIs(t, err, io.ErrShortWrite)
		require.EqualValues(t, taken, n)
		require.True(t, bytes.Equal(want[taken:], slices.Concat(v...)))
		idle.WatchOf(c).Stop()
	}
}

// TestBuffersToASlowPeerAreActivity ends with a peer that does not read any more.
func TestBuffersToASlowPeerAreActivity(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, newTimer(t, second), 10*second)
		near, far := pipe(t)
		c := r.Wrap(stream{near})
		go func() {
			for range 10 {
				time.Sleep(9 * second)
				io.ReadFull(far, make([]byte, 10<<10)) // a piece
			}
		}()
		start := time.Now()
		v := net.Buffers{random(1000), random(1 << 20)}
		n, err := idle.WriteBuffers(c, &v)
		assert.ErrorIs(t, err, idle.ErrIdle)
		assert.EqualValues(t, 100<<10, n)
		assert.GreaterOrEqual(t, time.Since(start), 100*second)
		assert.LessOrEqual(t, time.Since(start), 101*second)
	})
}
