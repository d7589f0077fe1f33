package idle_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/idle"
)

// counted counts the bytes that a client receives. Package tls forgives an end without
// close_notify.
type counted struct {
	net.Conn
	n atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n.Add(int64(n))
	return n, err
}

func TestTLSConnectionsEndWithCloseNotify(t *testing.T) {
	const alert = 24 // bytes in TLS 1.3
	source := httptest.NewUnstartedServer(nil)
	source.StartTLS()
	defer source.Close()
	certificates := source.TLS.Certificates
	for name, c := range map[string]struct {
		timeout time.Duration
		options idle.Options
		end     func(*idle.Reaper)
	}{
		"idle":      {time.Minute, idle.Options{}, func(*idle.Reaper) {}},
		"too old":   {time.Hour, idle.Options{MaxAge: time.Minute}, func(*idle.Reaper) {}},
		"close all": {time.Hour, idle.Options{CloseAll: true}, func(r *idle.Reaper) { r.Close() }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				timer, err := hashedwheel.New(nil)
				require.NoError(t, err)
				defer timer.Stop()
				r, err := idle.New(timer, c.timeout, &c.options)
				require.NoError(t, err)
				l := make(pipes, 1)
				server := &http.Server{
					Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }),
					TLSConfig: &tls.Config{Certificates: certificates},
				}
				go server.ServeTLS(r.Listener(l), "", "")
				defer server.Close()
				near, far := net.Pipe()
				l <- far
				count := &counted{Conn: near}
				client := tls.Client(count, &tls.Config{InsecureSkipVerify: true})
				defer client.Close()
				fmt.Fprint(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
				in := bufio.NewReader(client)
				response, err := http.ReadResponse(in, nil)
				require.NoError(t, err)
				_, err = io.Copy(io.Discard, response.Body)
				require.NoError(t, err)
				before := count.n.Load()
				c.end(r)
				_, err = in.ReadByte()
				assert.Equal(t, io.EOF, err)
				assert.EqualValues(t, alert, count.n.Load()-before, "bytes after the response")
			})
		})
	}
}

// pipes is a listener that accepts connections from a channel.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { close(p); return nil }

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// The server neither reads nor closes.
func TestTLSConnectionInUseIsClosedAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Millisecond})
		require.NoError(t, err)
		defer timer.Stop()
		r, err := idle.New(timer, time.Minute, nil)
		require.NoError(t, err)
		client, server := net.Pipe()
		defer client.Close()
		c := r.Wrap(server)
		go client.Write([]byte{0x16, 3, 1, 0, 100})
		_, err = io.ReadFull(c, make([]byte, 5))
		require.NoError(t, err)
		time.Sleep(time.Minute + 2*time.Millisecond)
		require.ErrorIs(t, idle.WatchOf(c).Err(), idle.ErrIdle)
		require.NoError(t, c.SetReadDeadline(time.Time{}), "net/http does so")
		_, err = c.Read(make([]byte, 1))
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		assert.False(t, timeout.Timeout())
		assert.ErrorIs(t, err, idle.ErrIdle)
		_, err = c.Write([]byte("HTTP/1.1 200 OK"))
		assert.ErrorIs(t, err, idle.ErrIdle, "only an alert is written")
		begin := time.Now()
		_, err = client.Read(make([]byte, 1))
		assert.Equal(t, io.EOF, err)
		assert.InDelta(t, time.Second, time.Since(begin), float64(5*time.Millisecond))
	})
}

func TestMaxAgeGraceIsForConnectionsInUse(t *testing.T) {
	for name, c := range map[string]struct {
		hold  time.Duration // from the beginning
		ended time.Duration
	}{
		"unused":          {0, time.Minute},
		"released before": {30 * time.Second, time.Minute},
		"released in it":  {65 * time.Second, 65*time.Second + 100*time.Millisecond},
		"held for long":   {time.Hour, 70 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Millisecond})
				require.NoError(t, err)
				defer timer.Stop()
				ended := make(chan idle.Event, 1)
				r, err := idle.New(timer, time.Hour, &idle.Options{MaxAge: time.Minute, MaxAgeGrace: 10 * time.Second, OnExpire: func(e idle.Event) { ended <- e }})
				require.NoError(t, err)
				client, server := net.Pipe()
				defer client.Close()
				release := idle.WatchOf(r.Wrap(server)).Hold()
				go func() { time.Sleep(c.hold); release() }()
				e := <-ended
				assert.Equal(t, idle.ErrTooOld, e.Reason)
				assert.GreaterOrEqual(t, e.Age, c.ended)
				assert.Less(t, e.Age, c.ended+150*time.Millisecond)
				time.Sleep(time.Hour)
			})
		})
	}
}

// TestTLSPeerSeesNoBadRecordAfterAWrite writes when the watch has ended. The sockets need the
// real clock.
func TestTLSPeerSeesNoBadRecordAfterAWrite(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			timer, err := hashedwheel.New(nil)
			require.NoError(t, err)
			defer timer.Stop()
			r, err := idle.New(timer, time.Hour, &idle.Options{CloseAll: true})
			require.NoError(t, err)
			certificate := httptest.NewUnstartedServer(nil)
			certificate.StartTLS()
			defer certificate.Close()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer l.Close()
			raw, err := net.Dial("tcp", l.Addr().String())
			require.NoError(t, err)
			accepted, err := l.Accept()
			require.NoError(t, err)
			server := tls.Server(r.Wrap(accepted), &tls.Config{Certificates: certificate.TLS.Certificates, MaxVersion: version})
			client := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
			defer client.Close()
			go fmt.Fprint(client, "x")
			_, err = io.ReadFull(server, make([]byte, 1))
			require.NoError(t, err)
			r.Close()
			assert.Eventually(t, func() bool {
				_, err = server.Write(make([]byte, 100))
				return err != nil
			}, 20*time.Second, time.Millisecond)
			assert.ErrorIs(t, err, idle.ErrClosed)
			server.Close()
			_, err = io.Copy(io.Discard, client)
			assert.NoError(t, err, "no record is out of order")
		})
	}
}
