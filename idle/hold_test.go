package idle_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

func TestHeldWatchIsNotIdle(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, newTimer(t, second), 10*second)
		c := newThing()
		w := r.Watch(c)
		time.Sleep(3 * second)
		first := w.Hold()
		time.Sleep(5 * second)
		second := w.Hold()
		time.Sleep(time.Hour)
		first()
		first() // counts once
		time.Sleep(time.Hour)
		assert.False(t, c.isClosed())
		released := time.Since(c.start)
		second()
		time.Sleep(time.Minute)
		require.Len(t, c.closes(), 1)
		assert.GreaterOrEqual(t, c.closes()[0], released+10*time.Second)
		assert.LessOrEqual(t, c.closes()[0], released+11*time.Second)
		w.Hold()() // does nothing
		assert.ErrorIs(t, w.Err(), idle.ErrIdle)
	})
}

// TestWholeTimeoutFollowsARelease releases a hold before any scan has seen it.
func TestWholeTimeoutFollowsARelease(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, newTimer(t, second), 10*second)
		c := newThing()
		release := r.Watch(c).Hold()
		time.Sleep(9 * second)
		release()
		released := time.Since(c.start)
		time.Sleep(time.Minute)
		require.Len(t, c.closes(), 1)
		assert.GreaterOrEqual(t, c.closes()[0], released+10*time.Second)
	})
}

// TestHoldAndScanRace lets holds begin and end in the middle of a scan (S5).
func TestHoldAndScanRace(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, &foreign{}, 10*second) // never scans
		w := r.Watch(newThing())
		time.Sleep(20 * second)
		end := idle.Scan(w)
		release := w.Hold()
		assert.False(t, end(), "a hold began")
		time.Sleep(20 * second)
		end = idle.Scan(w)
		release()
		assert.False(t, end(), "a hold ended")
		time.Sleep(20 * second)
		end = idle.Scan(w)
		assert.True(t, end())
		assert.ErrorIs(t, w.Err(), idle.ErrIdle)
	})
}

func TestTimeoutSetDuringAHoldBeginsAfterIt(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, newTimer(t, second), 10*second)
		c := newThing()
		w := r.Watch(c)
		release := w.Hold()
		time.Sleep(time.Minute)
		w.SetTimeout(3 * second)
		time.Sleep(time.Minute)
		release()
		time.Sleep(time.Minute)
		require.Len(t, c.closes(), 1)
		assert.GreaterOrEqual(t, c.closes()[0], 123*second)
		assert.LessOrEqual(t, c.closes()[0], 124*second)
	})
}

func TestHeldWatchReachesItsMaximumAge(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, newTimer(t, second), 10*second, &idle.Options{MaxAge: time.Minute})
		c := newThing()
		w := r.Watch(c)
		defer w.Hold()()
		time.Sleep(2 * time.Minute)
		require.Len(t, c.closes(), 1)
		assert.GreaterOrEqual(t, c.closes()[0], time.Minute)
		assert.LessOrEqual(t, c.closes()[0], time.Minute+second)
		assert.ErrorIs(t, w.Err(), idle.ErrTooOld)
	})
}

// stream is a pipe that is written in pieces, as a TCP connection is.
type stream struct{ net.Conn }

func (stream) CloseWrite() error                 { return nil }
func (stream) ReadFrom(io.Reader) (int64, error) { return 0, nil }

// TestWriteDuringAHold begins a write after an hour of silence. It has the whole
// timeout, and no more if the peer does not read.
func TestWriteDuringAHold(t *testing.T) {
	for _, reads := range []bool{true, false} {
		enginetest.Bubble(t, func(t *testing.T) {
			r := newReaper(t, newTimer(t, second), 10*second)
			near, far := pipe(t)
			c := r.Wrap(stream{near})
			release := idle.WatchOf(c).Hold()
			time.Sleep(time.Hour + 5*second) // halfway between two scans
			time.AfterFunc(time.Minute, func() { far.Close() })
			if reads {
				time.AfterFunc(9*second, func() { io.ReadFull(far, make([]byte, 10)) })
			}
			start := time.Now()
			n, err := c.Write(make([]byte, 10))
			if reads {
				assert.Equal(t, 10, n)
				assert.NoError(t, err)
				time.Sleep(time.Hour)
				assert.NoError(t, idle.WatchOf(c).Err(), "held")
			} else {
				assert.ErrorIs(t, err, idle.ErrIdle)
				assert.GreaterOrEqual(t, time.Since(start), 10*second)
				assert.LessOrEqual(t, time.Since(start), 11*second)
			}
			release()
			c.Close()
		})
	}
}

// TestTransferDuringAHold sends to a peer that does not read.
func TestTransferDuringAHold(t *testing.T) {
	for name, source := range map[string]func(*testing.T) io.Reader{
		"file": func(t *testing.T) io.Reader { return file(t, 16<<20) },
		"tcp": func(t *testing.T) io.Reader {
			client, server := tcpPair(t)
			t.Cleanup(func() { server.Close() })
			go func() {
				client.Write(random(16 << 20)) // fails when the test ends
				client.Close()
			}()
			return server
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReaper(t, newTimer(t, time.Millisecond), 100*time.Millisecond)
			client, server := narrowPair(t)
			defer client.Close()
			c := r.Wrap(server)
			defer idle.WatchOf(c).Hold()()
			require.NoError(t, c.SetWriteDeadline(time.Now().Add(20*time.Second))) // if it is not closed
			_, err := io.Copy(c, source(t))
			assert.ErrorIs(t, err, idle.ErrIdle)
		})
	}
}
