// Package storetest tests package durable on the server of package embedded. It
// stands in this module so that package durable does not require the server.
package storetest

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/embedded"
	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
)

func TestMain(m *testing.M) {
	if status, asked := role.Asked(); asked {
		os.Exit(status)
	}
	// The tests wait most of the time.
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// patience bounds what must happen and has no time of its own.
const patience = 60 * time.Second

// quietLog drops what the store logs.
var quietLog = slog.New(slog.NewTextHandler(io.Discard, nil))

// open opens a store on a directory of its own, until the test ends.
func open(t *testing.T, o durable.Options) *embedded.Store {
	t.Helper()
	return openDir(t, t.TempDir(), o)
}

// openDir opens a store on dir, until the test ends or it is closed.
func openDir(t *testing.T, dir string, o durable.Options) *embedded.Store {
	t.Helper()
	s, err := embedded.Open(testContext(t), dir, &embedded.Options{Store: o, Logger: quietLog})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// testContext returns a context that ends with the test, or after patience.
func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// shortLead keeps the tests quick.
var shortLead = durable.Options{Lead: time.Second}

// firings collects what a handler gets.
type firings struct {
	mu   sync.Mutex
	list []durable.Firing
	more chan struct{}
}

func newFirings() *firings { return &firings{more: make(chan struct{}, 1)} }

func (f *firings) handle(_ context.Context, firing durable.Firing) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, firing)
	select {
	case f.more <- struct{}{}:
	default:
	}
	return nil
}

func (f *firings) all() []durable.Firing {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]durable.Firing(nil), f.list...)
}

// wait returns once there are n firings.
func (f *firings) wait(t *testing.T, n int) []durable.Firing {
	t.Helper()
	deadline := time.After(patience)
	for {
		if list := f.all(); len(list) >= n {
			return list
		}
		select {
		case <-f.more:
		case <-deadline:
			require.FailNow(t, "too few firings", "%d of %d", len(f.all()), n)
		}
	}
}

// work runs Work until the function it returns is called, or the test ends.
func work(t *testing.T, s *durable.Store, h durable.Handler, o *durable.WorkOptions) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Work(ctx, h, o) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				require.NoError(t, err)
			case <-time.After(patience):
				require.FailNow(t, "Work does not end")
			}
		})
	}
	t.Cleanup(stop)
	return stop
}
