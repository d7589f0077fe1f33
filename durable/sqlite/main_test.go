package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

// children are the programs that tests start as processes, by name.
var children = map[string]func(path string){"callers": callers, "worker": worker}

func TestMain(m *testing.M) {
	if child := children[os.Getenv("HWT_CHILD")]; child != nil {
		child(os.Getenv("HWT_STORE"))
		return
	}
	goleak.VerifyTestMain(m)
}

// open opens a store in a file, which it closes when the test ends.
func open(t *testing.T, path string, o *sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func temp(t *testing.T) string { return filepath.Join(t.TempDir(), "timers.db") }

// collect starts a Work that sends its firings to the returned channel.
func collect(t *testing.T, s *sqlite.Store) <-chan durable.Firing {
	fired := make(chan durable.Firing, 10_000)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Work(ctx, func(_ context.Context, f durable.Firing) error {
			fired <- f
			return nil
		}, nil)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return fired
}

// receive waits for a firing. The test fails after a minute.
func receive(t *testing.T, fired <-chan durable.Firing) durable.Firing {
	t.Helper()
	select {
	case f := <-fired:
		return f
	case <-time.After(time.Minute):
		require.Fail(t, "nothing fires")
		panic("unreachable")
	}
}
