package leak_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt/leak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// resource is leaked by the tests. It is too large for the runtime to batch.
type resource struct {
	tracker *leak.Tracker
	_       [4]int
}

func (r *resource) close() bool { return r.tracker.CloseFor(r) }

// sink is a listener that keeps the reports.
type sink struct {
	mu      sync.Mutex
	reports []leak.Report // Guarded by mu.
}

func (s *sink) listen(r leak.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports = append(s.reports, r)
}

func (s *sink) all() []leak.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reports[:len(s.reports):len(s.reports)]
}

// at sets the level for the duration of the test.
func at(t testing.TB, level leak.Level) {
	before := leak.SetLevel(level)
	t.Cleanup(func() { leak.SetLevel(before) })
}

// newSinkDetector returns a detector and the sink that receives its reports.
func newSinkDetector(options ...leak.Options) (*leak.Detector[resource], *sink) {
	s := &sink{}
	o := append(options, leak.Options{})[0]
	o.Listener = s.listen
	return leak.NewDetector[resource]("test.Resource", &o), s
}

// collectUntil collects garbage until done returns true, for a few seconds at most.
// Cleanups run on the real clock, outside of bubbles.
func collectUntil(t testing.TB, done func() bool) {
	t.Helper()
	for range 1000 {
		runtime.GC()
		if done() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	require.FailNow(t, "the leak was not detected")
}

// allReported reports whether n leaks were detected, and each was reported to s or counted
// as a duplicate. A leak is counted before it is reported.
func allReported(d *leak.Detector[resource], s *sink, n int64) bool {
	stats := d.Stats()
	return stats.Leaked == n && int64(len(s.all()))+stats.Duplicates == n
}

// awaitCleanups collects garbage until the cleanups of all unreachable values have run.
func awaitCleanups(t testing.TB) {
	t.Helper()
	for range 3 {
		gone := make(chan struct{})
		dropCanary(gone)
		collectUntil(t, func() bool {
			select {
			case <-gone:
				return true
			default:
				return false
			}
		})
	}
}

//go:noinline
func dropCanary(gone chan struct{}) {
	runtime.AddCleanup(&resource{}, func(gone chan struct{}) { close(gone) }, gone)
}

// drop tracks a resource, calls use with its tracker, and drops it.
//
//go:noinline
func drop(d *leak.Detector[resource], use func(*leak.Tracker)) *leak.Tracker {
	r := &resource{}
	r.tracker = d.Track(r)
	if use != nil {
		use(r.tracker)
	}
	runtime.KeepAlive(r)
	return r.tracker
}

// atProcs runs f as a subtest at several numbers of processors.
func atProcs(t *testing.T, f func(t *testing.T)) {
	for _, procs := range []struct {
		name string
		n    int
	}{{"procs=1", 1}, {"procs=2", 2}, {"procs=4", 4}} {
		t.Run(procs.name, func(t *testing.T) {
			before := runtime.GOMAXPROCS(procs.n)
			defer runtime.GOMAXPROCS(before)
			f(t)
		})
	}
}
