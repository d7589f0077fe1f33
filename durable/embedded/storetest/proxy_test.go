package storetest

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/embedded"
	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
)

// proxy passes connections on, until it cuts them all, or while it is stalled.
type proxy struct {
	listener net.Listener
	target   string
	all      sync.WaitGroup
	stalled  sync.RWMutex // Locked while nothing is passed on to the target.

	mu    sync.Mutex
	conns []net.Conn // Guarded by mu.
}

func newProxy(t *testing.T, target string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, target: target}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.cut()
		p.all.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target)
		if err != nil {
			in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		p.all.Go(func() { io.Copy(out, gate{in, &p.stalled}); out.Close() })
		p.all.Go(func() { io.Copy(in, out); in.Close() })
	}
}

// gate reads from a connection while it is open.
type gate struct {
	net.Conn
	closed *sync.RWMutex
}

func (g gate) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	g.closed.RLock()
	defer g.closed.RUnlock()
	return n, err
}

// stall passes nothing on until the function it returns is called, or the test
// ends.
func (p *proxy) stall(t *testing.T) (release func()) {
	p.stalled.Lock()
	release = sync.OnceFunc(p.stalled.Unlock)
	t.Cleanup(release)
	return release
}

// cut ends all connections. What was on the way, in either direction, is lost.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// TestALostAnswerChangesNothing cuts the connection again and again, so that
// requests arrive whose answers do not. Each operation takes effect once.
func TestALostAnswerChangesNothing(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	server, err := embedded.Open(ctx, t.TempDir(), &embedded.Options{Store: shortLead, Listen: "127.0.0.1:0", Logger: quietLog})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	p := newProxy(t, server.URL()[len("nats://"):])
	s, conn, err := role.Connect(ctx, []string{"nats://" + p.listener.Addr().String()}, role.Store{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close(); conn.Close() })

	chaos, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	var cycles, cuts atomic.Int64
	all.Go(func() {
		for last := int64(0); chaos.Err() == nil; last = cycles.Load() {
			sleep(chaos, 200*time.Millisecond+rand.N(400*time.Millisecond))
			for chaos.Err() == nil && cycles.Load() == last { // a slow disk may answer nothing in that time
				sleep(chaos, time.Millisecond)
			}
			p.cut()
			cuts.Add(1)
		}
	})
	const n = 20
	hour := time.Now().Add(time.Hour)
	near := time.Now().Add(15 * time.Second)
	expectNil := func(key int, err error) { assert.NoError(t, err, key) }
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() {
			key := strconv.Itoa(i)
			for cuts.Load() < 12 {
				if !cycle(t, ctx, s, key, near, hour) {
					return
				}
				cycles.Add(1)
			}
			_, err := s.Create(ctx, key, near, []byte("1"))
			expectNil(i, err)
			if i%2 == 0 {
				_, err = s.Cancel(ctx, key)
				expectNil(i, err)
			}
		})
	}
	work.Wait()
	end()
	all.Wait()
	left := map[string]int{}
	for timer, err := range server.All(ctx) {
		require.NoError(t, err)
		left[timer.Key]++
		assert.Equal(t, near.UnixNano(), timer.Due.UnixNano())
	}
	assert.Len(t, left, n/2)
	for key, times := range left {
		assert.Equal(t, 1, times, key)
	}
}

// cycle leaves the key without a timer. It reports whether all was well.
func cycle(t *testing.T, ctx context.Context, s *durable.Store, key string, near, hour time.Time) bool {
	_, err := s.Create(ctx, key, near, []byte("1"))
	ok := assert.NoError(t, err, key)
	moved, err := s.Move(ctx, key, hour)
	ok = assert.NoError(t, err, key) && ok
	_, err = s.MoveIf(ctx, key, moved.Generation, near)
	ok = assert.NoError(t, err, key) && ok
	_, err = s.Cancel(ctx, key)
	ok = assert.NoError(t, err, key) && ok
	_, err = s.Get(ctx, key)
	return assert.ErrorIs(t, err, durable.ErrNotFound) && ok
}

// TestTheEndOfAContextEndsEveryWait has a server that does not answer.
func TestTheEndOfAContextEndsEveryWait(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	server, err := embedded.Open(ctx, t.TempDir(), &embedded.Options{Store: shortLead, Listen: "127.0.0.1:0", Logger: quietLog})
	require.NoError(t, err)
	s, conn, err := role.Connect(ctx, []string{server.URL()}, role.Store{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close(); conn.Close() })
	require.NoError(t, server.Close())

	cause := errors.New("enough")
	for name, f := range map[string]func(context.Context) error{
		"Set":     func(ctx context.Context) error { _, err := s.Set(ctx, "k", time.Now().Add(time.Hour), nil); return err },
		"Move":    func(ctx context.Context) error { _, err := s.Move(ctx, "k", time.Now().Add(time.Hour)); return err },
		"Cancel":  func(ctx context.Context) error { _, err := s.Cancel(ctx, "k"); return err },
		"Get":     func(ctx context.Context) error { _, err := s.Get(ctx, "k"); return err },
		"Requeue": func(ctx context.Context) error { _, err := s.Requeue(ctx, "k", 1); return err },
		"All": func(ctx context.Context) error {
			for _, err := range s.All(ctx) {
				return err
			}
			return nil
		},
		"SetMany": func(ctx context.Context) error {
			_, err := s.SetMany(ctx, func(yield func(durable.Timer) bool) {
				yield(durable.Timer{Key: "k", Due: time.Now().Add(time.Hour)})
			})
			return err
		},
	} {
		short, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
		assert.ErrorIs(t, f(short), cause, name)
	}
	short, cancel := context.WithCancel(ctx)
	time.AfterFunc(100*time.Millisecond, cancel)
	assert.NoError(t, s.Work(short, func(context.Context, durable.Firing) error { return nil }, nil))
}

// TestTheEndOfAContextEndsTheWaitForAServerThatDoesNotRead sends more than the
// connection takes.
func TestTheEndOfAContextEndsTheWaitForAServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	server, err := embedded.Open(ctx, t.TempDir(), &embedded.Options{Store: shortLead, Listen: "127.0.0.1:0", Logger: quietLog})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	p := newProxy(t, server.URL()[len("nats://"):])
	conn, err := nats.Connect("nats://" + p.listener.Addr().String())
	require.NoError(t, err)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	s, err := durable.Open(ctx, js, &durable.Options{Logger: quietLog})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close(); conn.Close() })

	release := p.stall(t)
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	done := make(chan error, 32)
	for i := range cap(done) {
		go func() {
			_, err := s.Set(short, strconv.Itoa(i), time.Now().Add(time.Hour), make([]byte, 900<<10))
			done <- err
		}()
	}
	late := time.After(patience / 3) // the connection itself gives up after a minute
	for range cap(done) {
		select {
		case err := <-done:
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		case <-late:
			require.FailNow(t, "Set does not return")
		}
	}
	release()
}

// TestTheEndOfAContextEndsSetMany has requests under way that nobody answers, and a
// timeout for them that is longer than the test.
func TestTheEndOfAContextEndsSetMany(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	server, err := embedded.Open(ctx, t.TempDir(), &embedded.Options{Store: shortLead, Listen: "127.0.0.1:0", Logger: quietLog})
	require.NoError(t, err)
	conn, err := nats.Connect(server.URL(), nats.MaxReconnects(-1))
	require.NoError(t, err)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	s, err := durable.Open(ctx, js, &durable.Options{Timeout: time.Minute, Logger: quietLog})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close(); conn.Close() })
	require.NoError(t, server.Close())
	require.Eventually(t, conn.IsReconnecting, patience, time.Millisecond)

	short, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := s.SetMany(short, func(yield func(durable.Timer) bool) {
			yield(durable.Timer{Key: "k", Due: time.Now().Add(time.Hour)})
			time.AfterFunc(100*time.Millisecond, cancel)
		})
		done <- err
	}()
	select {
	case err := <-done:
		assert.ErrorIs(t, err, context.Canceled)
	case <-time.After(patience / 3):
		assert.Fail(t, "SetMany does not return")
	}
}
