package idle_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newTimer returns a wheel that is stopped when the test ends.
func newTimer(t testing.TB, tick time.Duration, options ...hashedwheel.Options) hwt.Engine {
	o := append(options, hashedwheel.Options{})[0]
	o.TickDuration = tick
	timer, err := hashedwheel.New(&o)
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	return timer
}

func newRuntimeTimer(t testing.TB) hwt.Engine {
	timer, err := runtimetimer.New(nil)
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	return timer
}

func newHierarchical(t testing.TB, tick time.Duration) hwt.Engine {
	timer, err := hierarchical.New(&hierarchical.Options{TickDuration: tick})
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	return timer
}

// thing is something to watch that notes when it is closed.
type thing struct {
	start    time.Time
	mu       sync.Mutex
	closedAt []time.Duration // Guarded by mu.
}

func newThing() *thing { return &thing{start: time.Now()} }

func (c *thing) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closedAt = append(c.closedAt, time.Since(c.start))
	return nil
}

func (c *thing) closes() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closedAt
}

func (c *thing) isClosed() bool { return len(c.closes()) > 0 }

// events collects the events of OnExpire.
type events struct {
	mu  sync.Mutex
	all []idle.Event // Guarded by mu.
}

func (e *events) add(event idle.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

func (e *events) list() []idle.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all
}

// failures collects errors.
type failures struct {
	mu  sync.Mutex
	all []error // Guarded by mu.
}

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, err)
}

func (f *failures) list() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all
}

// pipe returns both ends of a net.Pipe, closed when the test ends.
func pipe(t testing.TB) (near, far net.Conn) {
	near, far = net.Pipe()
	t.Cleanup(func() {
		near.Close()
		far.Close()
	})
	return near, far
}

// eventually waits on the real clock until the condition holds, for as long as a
// loaded machine may need.
func eventually(t testing.TB, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 20*time.Second, 2*time.Millisecond)
}

// countsSince waits until there was activity on c since then. It does not depend on
// the speed of the machine, as a connection that outlives its timeout would.
func countsSince(t testing.TB, then time.Time, c net.Conn) {
	t.Helper()
	eventually(t, func() bool { return !idle.Latest(idle.WatchOf(c)).Before(then) })
}

// conserved checks that the reaper's counts add up.
func conserved(t testing.TB, r *idle.Reaper) idle.Stats {
	t.Helper()
	s := r.Stats()
	require.GreaterOrEqual(t, s.Watched, int64(0))
	require.Equal(t, s.Accepted, s.Watched+s.Idle+s.TooOld+s.Stopped+s.Dropped)
	return s
}

// drain reads until the end and returns the number of bytes.
func drain(r io.Reader) int64 {
	n, _ := io.Copy(io.Discard, r)
	return n
}
