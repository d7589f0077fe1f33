package sqlite_test

import (
	"context"
	"log/slog"
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

// storingLog is the output of a logger. It stores an entry per record.
type storingLog struct {
	store  *sqlite.Store
	record chan string // each record, before its entry is stored
	stored chan error
}

func newStoringLog() *storingLog {
	return &storingLog{record: make(chan string, 9), stored: make(chan error, 9)}
}

// open opens a store with the logger, which stores its entries there.
func (l *storingLog) open(t *testing.T, path string) *sqlite.Store {
	l.store = open(t, path, &sqlite.Options{Options: durable.Options{Logger: slog.New(slog.NewTextHandler(l, nil))}})
	return l.store
}

func (l *storingLog) Write(record []byte) (int, error) {
	l.record <- string(record)
	_, err := l.store.Set(context.Background(), durable.Entry{Key: "record", Due: time.Now().Add(time.Hour)})
	l.stored <- err
	return len(record), nil
}

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

// receive waits for a firing or another value. The test fails after a minute.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(time.Minute):
		require.Fail(t, "nothing happens")
		panic("unreachable")
	}
}
