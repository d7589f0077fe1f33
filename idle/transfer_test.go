package idle_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/idle"
)

// These tests need the kernel to move bytes, and therefore the real clock. Their
// timeouts are either too long to expire, or the test waits for the end. Whether a
// transfer is active is read from its watch.

// file returns an open file of n random bytes.
func file(t testing.TB, n int) *os.File {
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, random(n), 0o600))
	f, err := os.Open(name)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// random returns n random bytes, the same each time.
func random(n int) []byte { return bytesOnce()[:n:n] }

var bytesOnce = sync.OnceValue(func() []byte {
	p := make([]byte, 16<<20)
	rand.NewChaCha8([32]byte{1}).Read(p)
	return p
})

// sendings are ways to send random(n).
func sendings(t testing.TB, n int) map[string]func(net.Conn) error {
	return map[string]func(net.Conn) error{
		"write": func(c net.Conn) error {
			_, err := c.Write(random(n))
			return err
		},
		"file": func(c net.Conn) error {
			_, err := io.Copy(c, file(t, n))
			return err
		},
	}
}

// received returns the bytes that arrive at c until its end.
func received(c net.Conn) <-chan []byte {
	all := make(chan []byte, 1)
	go func() {
		p, _ := io.ReadAll(c)
		all <- p
	}()
	return all
}

const copied = 3<<20 + 17

// sources are readers of copied bytes.
var sources = map[string]func(*testing.T, *idle.Reaper) io.Reader{
	"file":   func(t *testing.T, _ *idle.Reaper) io.Reader { return file(t, copied) },
	"buffer": func(*testing.T, *idle.Reaper) io.Reader { return bytes.NewReader(random(copied)) },
	"plain":  func(*testing.T, *idle.Reaper) io.Reader { return struct{ io.Reader }{bytes.NewReader(random(copied))} },
	"tcp":    func(t *testing.T, _ *idle.Reaper) io.Reader { return feed(tcpPair(t)) },
	"unix":   func(t *testing.T, _ *idle.Reaper) io.Reader { return feed(unixPair(t)) },
	"wrapped tcp": func(t *testing.T, r *idle.Reaper) io.Reader {
		return r.Wrap(feed(tcpPair(t)))
	},
	"wrapped unix": func(t *testing.T, r *idle.Reaper) io.Reader {
		return r.Wrap(feed(unixPair(t)))
	},
	"unusual": func(t *testing.T, r *idle.Reaper) io.Reader {
		return r.Wrap(struct{ net.Conn }{feed(tcpPair(t))})
	},
}

// destinations are writers, with the connections at their other ends.
var destinations = map[string]func(*testing.T, *idle.Reaper) (io.WriteCloser, net.Conn){
	"wrapped tcp": func(t *testing.T, r *idle.Reaper) (io.WriteCloser, net.Conn) {
		client, server := tcpPair(t)
		return r.Wrap(server), client
	},
	"tcp": func(t *testing.T, _ *idle.Reaper) (io.WriteCloser, net.Conn) {
		client, server := tcpPair(t)
		return server, client
	},
	"wrapped unix": func(t *testing.T, r *idle.Reaper) (io.WriteCloser, net.Conn) {
		client, server := unixPair(t)
		return r.Wrap(server), client
	},
}

func TestIOCopyMovesEverything(t *testing.T) {
	want := random(copied)
	for from, source := range sources {
		for to, destination := range destinations {
			for _, limit := range []int64{0, 1 << 20} {
				t.Run(from+" to "+to, func(t *testing.T) {
					r := newReaper(t, newTimer(t, second), time.Hour)
					dst, far := destination(t, r)
					defer far.Close()
					got := received(far)
					src := source(t, r)
					if c, ok := src.(io.Closer); ok {
						defer c.Close()
					}
					expect := want
					if limit > 0 {
						expect = want[:limit]
						limited := &io.LimitedReader{R: src, N: limit}
						moved, err := io.Copy(dst, limited)
						assert.Equal(t, limit, moved)
						assert.NoError(t, err)
						assert.Zero(t, limited.N, "bytes left to read")
					} else {
						moved, err := io.Copy(dst, src)
						assert.EqualValues(t, copied, moved)
						assert.NoError(t, err)
					}
					require.NoError(t, dst.Close())
					assert.True(t, bytes.Equal(expect, <-got))
				})
			}
		}
	}
}

const fed = 3<<20 + 17

// feed writes fed bytes to client, closes it, and returns server.
func feed(client, server net.Conn) net.Conn {
	go func() {
		client.Write(random(fed))
		client.Close()
	}()
	return server
}

// interrupted is a connection that calls meanwhile after the first piece.
type interrupted struct {
	*net.TCPConn
	once      sync.Once
	meanwhile func()
}

func (c *interrupted) Write(p []byte) (int, error) {
	n, err := c.TCPConn.Write(p)
	c.once.Do(c.meanwhile)
	return n, err
}

func (c *interrupted) ReadFrom(r io.Reader) (int64, error) {
	n, err := c.TCPConn.ReadFrom(r)
	c.once.Do(c.meanwhile)
	return n, err
}

// TestConcurrentWritesDoNotMix checks a promise of package net on wrappers: the bytes of
// one call are contiguous.
func TestConcurrentWritesDoNotMix(t *testing.T) {
	const n = 1 << 20
	r := newReaper(t, newTimer(t, second), time.Hour)
	for name, send := range sendings(t, n) {
		t.Run(name, func(t *testing.T) {
			client, server := tcpPair(t)
			defer client.Close()
			got := received(client)
			bare := &interrupted{TCPConn: server.(*net.TCPConn)}
			c := r.Wrap(bare)
			var other sync.WaitGroup
			bare.meanwhile = func() {
				other.Go(func() {
					_, err := c.Write([]byte("another"))
					assert.NoError(t, err)
				})
				time.Sleep(30 * time.Millisecond) // it would write now, if it could
			}
			require.NoError(t, send(c))
			other.Wait()
			require.NoError(t, c.Close())
			assert.True(t, bytes.Equal(append(random(n), "another"...), <-got))
		})
	}
}

// TestWriteThatDoesNotCountGoesInOnePiece counts the calls that reach the connection.
func TestWriteThatDoesNotCountGoesInOnePiece(t *testing.T) {
	const n = 1 << 20
	for activity, whole := range map[idle.Activity]bool{idle.ActivityRead: true, idle.ActivityWrite: false} {
		r := newReaper(t, newTimer(t, second), time.Hour, &idle.Options{Activity: activity})
		client, server := tcpPair(t)
		defer client.Close()
		got := received(client)
		bare := &counting{TCPConn: server.(*net.TCPConn)}
		c := r.Wrap(bare)
		_, err := c.Write(random(n))
		require.NoError(t, err)
		assert.Equal(t, whole, bare.calls == 1, "%d writes", bare.calls)
		bare.calls = 0
		_, err = io.Copy(c, file(t, n))
		require.NoError(t, err)
		assert.Equal(t, whole, bare.calls == 1, "%d transfers", bare.calls)
		c.Close()
		assert.Len(t, <-got, 2*n)
	}
}

// counting is a connection that counts its writes and transfers.
type counting struct {
	*net.TCPConn
	calls int
}

func (c *counting) Write(p []byte) (int, error) {
	c.calls++
	return c.TCPConn.Write(p)
}

func (c *counting) ReadFrom(r io.Reader) (int64, error) {
	c.calls++
	return c.TCPConn.ReadFrom(r)
}

// TestLengthOfAPiece checks the number of bytes that must move in a timeout. The timer
// is stopped, so the reaper closes no connection.
func TestLengthOfAPiece(t *testing.T) {
	timer := newTimer(t, second)
	timer.Stop()
	for timeout, piece := range map[time.Duration]int{
		time.Millisecond: 4 << 10, second: 4 << 10, 10 * second: 10 << 10, time.Hour: 64 << 10, 1<<63 - 1: 64 << 10,
	} {
		r := newReaper(t, timer, timeout, &idle.Options{ErrorHandler: func(error) {}})
		client, server := tcpPair(t)
		defer client.Close()
		got := received(client)
		bare := &counting{TCPConn: server.(*net.TCPConn)}
		c := r.Wrap(bare)
		const n = 256 << 10
		calls := (n + piece - 1) / piece
		_, err := c.Write(random(n))
		require.NoError(t, err)
		assert.Equal(t, calls, bare.calls, timeout)
		bare.calls = 0
		_, err = io.CopyN(c, file(t, n), n)
		require.NoError(t, err)
		assert.Equal(t, calls, bare.calls, timeout)
		c.Close()
		assert.Len(t, <-got, 2*n)
	}
}

func TestCopyToAFileIsActivity(t *testing.T) {
	for name, pair := range map[string]func(testing.TB) (net.Conn, net.Conn){"tcp": tcpPair, "unix": unixPair} {
		for kind, copying := range map[string]func(io.Writer, io.Reader) (int64, error){
			"io.Copy":  io.Copy,
			"io.CopyN": func(w io.Writer, r io.Reader) (int64, error) { return io.CopyN(w, r, 5000) },
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				r := newReaper(t, newTimer(t, time.Millisecond), time.Hour)
				client, server := pair(t)
				defer client.Close()
				src := r.Wrap(server)
				defer src.Close()
				go func() {
					defer client.Close()
					for range 5 {
						before := time.Now()
						client.Write(random(1000))
						countsSince(t, before, src)
					}
				}()
				f, err := os.Create(filepath.Join(t.TempDir(), "copy"))
				require.NoError(t, err)
				defer f.Close()
				n, err := copying(f, src)
				assert.EqualValues(t, 5000, n)
				assert.NoError(t, err)
			})
		}
	}
}

func TestRawReadsAndWritesAreActivity(t *testing.T) {
	r := newReaper(t, newTimer(t, time.Millisecond), time.Hour)
	client, server := tcpPair(t)
	defer client.Close()
	c := r.Wrap(server)
	defer c.Close()
	raw, err := c.(syscall.Conn).SyscallConn()
	require.NoError(t, err)
	_, err = r.Wrap(&net.UDPConn{}).(syscall.Conn).SyscallConn()
	assert.ErrorIs(t, err, syscall.EINVAL)
	for _, op := range []func(func(uintptr) bool) error{raw.Read, raw.Write} {
		time.Sleep(time.Millisecond)
		before := time.Now()
		require.NoError(t, op(func(uintptr) bool { return true }))
		assert.False(t, idle.Latest(idle.WatchOf(c)).Before(before))
	}
}
