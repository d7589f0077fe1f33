package storetest

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/embedded"
	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
)

// openFiles returns how many files and connections the process has open.
func openFiles(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("the system does not say what is open")
	}
	return len(list)
}

// TestNothingIsLeftAfterClose does not run in parallel: it counts.
func TestNothingIsLeftAfterClose(t *testing.T) {
	ctx := testContext(t)
	round := func() {
		s, err := embedded.Open(ctx, t.TempDir(), &embedded.Options{Store: shortLead, Listen: "127.0.0.1:0", Logger: quietLog})
		require.NoError(t, err)
		subscriptions := s.Conn().NumSubscriptions()
		js, err := jetstream.New(s.Conn())
		require.NoError(t, err)
		other, err := durable.Open(ctx, js, nil)
		require.NoError(t, err)
		got := newFirings()
		stop := work(t, other, got.handle, nil)
		_, err = other.Set(ctx, "k", time.Now(), nil)
		require.NoError(t, err)
		got.wait(t, 1)
		for _, err := range other.All(ctx) {
			require.NoError(t, err)
		}
		stop()
		require.NoError(t, other.Close())
		require.Eventually(t, func() bool { return s.Conn().NumSubscriptions() <= subscriptions }, patience, time.Millisecond)
		require.NoError(t, s.Close())
	}
	round() // what the libraries keep for good
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	round()
	for end := time.Now().Add(patience); runtime.NumGoroutine() > goroutines || openFiles(t) > files; {
		require.True(t, time.Now().Before(end), "%d goroutines of %d, %d files of %d", runtime.NumGoroutine(), goroutines, openFiles(t), files)
		time.Sleep(10 * time.Millisecond)
	}
}

func TestNoPortIsOpenedUnasked(t *testing.T) {
	t.Parallel()
	assert.Empty(t, open(t, shortLead).URL())
}

// TestWorkDrains has Work end while one handler runs and others wait for their
// turn: it returns after the claimed ones, and hands the rest back.
func TestWorkDrains(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{Lead: 2 * time.Second})
	ctx := testContext(t)
	begun, release := make(chan struct{}), make(chan struct{})
	got := newFirings()
	stop := work(t, s.Store, func(ctx context.Context, f durable.Firing) error {
		close(begun)
		<-release
		return got.handle(ctx, f)
	}, &durable.WorkOptions{Concurrency: 1})
	_, err := s.Set(ctx, "running", time.Now(), nil)
	require.NoError(t, err)
	<-begun
	require.Eventually(t, func() bool {
		require.NoError(t, s.Refresh(ctx))
		return s.Stats().Pending == 0 && s.Stats().Leased == 1
	}, patience, 10*time.Millisecond, "the canary is not counted")
	due := time.Now().Add(1500 * time.Millisecond)
	_, err = s.Set(ctx, "held", due, nil)
	require.NoError(t, err)
	time.AfterFunc(200*time.Millisecond, func() { close(release) })
	stop()
	assert.Len(t, got.all(), 1, "Work returned before its handler")
	stop = work(t, s.Store, got.handle, nil)
	list := got.wait(t, 2)
	stop()
	assert.Equal(t, "held", list[1].Key)
	assert.Equal(t, 1, list[1].Attempt)
}

func TestASecondCloseWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	s := open(t, shortLead)
	ctx := testContext(t)
	begun, release := make(chan struct{}), make(chan struct{})
	var worked sync.WaitGroup
	worked.Go(func() {
		err := s.Work(ctx, func(context.Context, durable.Firing) error {
			close(begun)
			<-release
			return nil
		}, nil)
		assert.ErrorIs(t, err, durable.ErrClosed)
	})
	_, err := s.Set(ctx, "k", time.Now(), nil)
	require.NoError(t, err)
	<-begun
	closed := make(chan error, 2)
	for range cap(closed) {
		go func() { closed <- s.Store.Close() }()
	}
	select {
	case <-closed:
		assert.Fail(t, "Close returned before the handler")
	case <-time.After(300 * time.Millisecond):
	}
	close(release)
	for range cap(closed) {
		assert.NoError(t, <-closed)
	}
	worked.Wait()
}

// TestWorkEndsWithoutAServer stops the server while handlers run: what they did
// cannot be stored.
func TestWorkEndsWithoutAServer(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	server, err := embedded.Open(ctx, t.TempDir(), &embedded.Options{Store: shortLead, Listen: "127.0.0.1:0", Logger: quietLog})
	require.NoError(t, err)
	s, conn, err := role.Connect(ctx, []string{server.URL()}, role.Store{})
	require.NoError(t, err)
	defer conn.Close()
	begun, release := make(chan struct{}), make(chan struct{})
	stop := work(t, s, func(_ context.Context, f durable.Firing) error {
		begun <- struct{}{}
		<-release
		if f.Key == "fails" {
			return errors.New("no")
		}
		return nil
	}, nil)
	keys := []string{"fails", "succeeds"}
	for _, key := range keys {
		_, err = s.Set(ctx, key, time.Now(), nil)
		require.NoError(t, err)
	}
	for range keys {
		<-begun
	}
	require.NoError(t, server.Close())
	close(release)
	stop() // fails the test after patience
	require.NoError(t, s.Close())
}
