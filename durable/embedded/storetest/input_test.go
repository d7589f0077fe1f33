package storetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/embedded"
)

func TestBadInputIsNamedAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{})
	ctx := testContext(t)
	hour := time.Now().Add(time.Hour)
	for _, c := range []struct {
		key     string
		due     time.Time
		payload []byte
		names   string
	}{
		{"", hour, nil, `key "" of 0 bytes (expected: 1 to 512)`},
		{strings.Repeat("k", 513), hour, nil, "of 513 bytes (expected: 1 to 512)"},
		{"k", hour, make([]byte, 1<<20), "payload of 1048576 bytes (expected: up to"},
		{"k", time.Now().Add(-2 * time.Minute), nil, "is in the past (expected: after"},
		{"k", time.Time{}, nil, "is in the past"},
		{"k", time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC), nil, "due time 2300-01-01T00:00:00Z (expected: up to 2262"},
	} {
		_, err := s.Set(ctx, c.key, c.due, c.payload)
		require.ErrorIs(t, err, durable.ErrInvalid)
		assert.ErrorContains(t, err, c.names)
		_, err = s.Create(ctx, c.key, c.due, c.payload)
		assert.ErrorContains(t, err, c.names)
		n, err := s.SetMany(ctx, func(yield func(durable.Timer) bool) {
			yield(durable.Timer{Key: c.key, Due: c.due, Payload: c.payload})
		})
		assert.ErrorContains(t, err, c.names)
		assert.Zero(t, n)
	}
	for _, every := range []durable.Every{{}, {Spec: "@every 1ms"}, {Spec: "@every"}, {Spec: "61 * * * *"},
		{Spec: "CRON_TZ=Nowhere * * * * *"}, {Spec: "CRON_TZ=UTC"}, {Spec: "TZ="}, {Spec: "TZ=Local 0 9 * * *"}, {Spec: "@every 1m", Schedule: "too"}, {Spec: "@every 1m", Missed: 9},
		{Schedule: "a\r\nHwt-Due: 1"}} {
		_, err := s.SetEvery(ctx, "k", every, time.Time{}, nil)
		assert.ErrorIs(t, err, durable.ErrInvalid, "%+v", every)
	}
	for _, f := range []func(string) error{
		func(k string) error { _, err := s.Get(ctx, k); return err },
		func(k string) error { _, err := s.Cancel(ctx, k); return err },
		func(k string) error { _, err := s.Move(ctx, k, hour); return err },
		func(k string) error { _, err := s.Requeue(ctx, k, 1); return err },
		func(k string) error { return s.Discard(ctx, k, 1) },
	} {
		assert.ErrorIs(t, f(""), durable.ErrInvalid)
	}
	assert.ErrorIs(t, s.Work(ctx, nil, nil), durable.ErrInvalid)
	for range s.All(ctx) {
		assert.Fail(t, "something was stored")
	}
}

func TestKeysOfAnyBytesWork(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{Shards: 3})
	ctx := testContext(t)
	keys := []string{"a.b", "*", ">", "~canary", " ", "\x00\xff", "ключ", strings.Repeat("k", 512)}
	for _, key := range keys {
		_, err := s.Create(ctx, key, time.Now().Add(time.Hour), []byte(key))
		require.NoError(t, err)
	}
	var got []string
	for timer, err := range s.All(ctx) {
		require.NoError(t, err)
		assert.Equal(t, timer.Key, string(timer.Payload))
		got = append(got, timer.Key)
	}
	assert.ElementsMatch(t, keys, got)
}

func TestAStreamThatIsNotOursIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{})
	ctx := testContext(t)
	js, err := jetstream.New(s.Conn())
	require.NoError(t, err)
	for _, shard := range []string{"00", "01"} {
		name := "HWT_theirs" + shard + "_" + shard
		_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}})
		require.NoError(t, err)
		before, err := js.AccountInfo(ctx)
		require.NoError(t, err)
		_, err = durable.Open(ctx, js, &durable.Options{Name: "theirs" + shard})
		assert.ErrorIs(t, err, durable.ErrForeignStream)
		assert.ErrorContains(t, err, name)
		after, err := js.AccountInfo(ctx)
		require.NoError(t, err)
		assert.Equal(t, before.Streams, after.Streams, "no other shard was created")
		info, err := js.Stream(ctx, name)
		require.NoError(t, err)
		assert.Empty(t, info.CachedInfo().Config.Metadata["hwt-format"])
	}
}

func TestACallWhoseContextHasEndedStoresNothing(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{})
	ctx := testContext(t)
	hour := time.Now().Add(time.Hour)
	_, err := s.Set(ctx, "k", hour, []byte("old"))
	require.NoError(t, err)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for range 20 {
		_, err := s.Set(ended, "new", hour, nil)
		assert.ErrorIs(t, err, context.Canceled)
		_, err = s.Cancel(ended, "k")
		assert.ErrorIs(t, err, context.Canceled)
		n, err := s.SetMany(ended, func(yield func(durable.Timer) bool) { yield(durable.Timer{Key: "many", Due: hour}) })
		assert.ErrorIs(t, err, context.Canceled)
		assert.Zero(t, n)
	}
	time.Sleep(100 * time.Millisecond)
	for timer, err := range s.All(ctx) {
		require.NoError(t, err)
		assert.Equal(t, "k", timer.Key)
	}
	_, err = s.Get(ctx, "k")
	assert.NoError(t, err)
}

// TestAStreamWithLimitsIsRefused has an operator limit a stream, which would drop
// timers.
func TestAStreamWithLimitsIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{Name: "a"})
	ctx := testContext(t)
	js, err := jetstream.New(s.Conn())
	require.NoError(t, err)
	stream, err := js.Stream(ctx, "HWT_a_00")
	require.NoError(t, err)
	changed := stream.CachedInfo().Config
	changed.MaxMsgs = 1000
	_, err = js.UpdateStream(ctx, changed)
	require.NoError(t, err)
	_, err = durable.Open(ctx, js, &durable.Options{Name: "a"})
	assert.ErrorIs(t, err, durable.ErrForeignStream)
	assert.ErrorContains(t, err, "limits")
}

// TestShardsOfAnotherCreationAreRefused has a store whose creation was cut short before
// its first shard: the next creation asks for another lead.
func TestShardsOfAnotherCreationAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{Name: "a", Shards: 2, Lead: 3 * time.Second})
	ctx := testContext(t)
	js, err := jetstream.New(s.Conn())
	require.NoError(t, err)
	require.NoError(t, js.DeleteStream(ctx, "HWT_a_00"))
	_, err = durable.Open(ctx, js, &durable.Options{Name: "a", Shards: 2, Lead: 4 * time.Second})
	assert.ErrorIs(t, err, durable.ErrForeignStream)
	assert.ErrorContains(t, err, "HWT_a_01")
	assert.ErrorContains(t, err, "Lead: 3s, MaxBytes: 0 (expected: Shards: 2, Lead: 4s")
	again, err := durable.Open(ctx, js, &durable.Options{Name: "a", Shards: 2, Lead: 3 * time.Second})
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

func TestAStoreIsOpenedAsItWasMade(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{Name: "a", Shards: 2, Lead: 3 * time.Second, MaxBytes: 1 << 30})
	ctx := testContext(t)
	js, err := jetstream.New(s.Conn())
	require.NoError(t, err)
	for _, o := range []durable.Options{{Shards: 3}, {Lead: time.Second}, {Replicas: 3}, {MaxBytes: 1 << 20}} {
		o.Name = "a"
		_, err := durable.Open(ctx, js, &o)
		assert.ErrorIs(t, err, durable.ErrInvalid, "%+v", o)
	}
	again, err := durable.Open(ctx, js, &durable.Options{Name: "a"})
	require.NoError(t, err)
	defer again.Close()
	assert.Equal(t, 2, again.Shards())
	_, err = s.Set(ctx, "k", time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	_, err = again.Get(ctx, "k")
	assert.NoError(t, err)
}

func TestADirectoryIsOpenedAsWhatItIs(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	dir := t.TempDir()
	s := openDir(t, dir, durable.Options{})
	_, err := s.Set(ctx, "k", time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	_, err = embedded.Open(ctx, dir, nil)
	assert.ErrorIs(t, err, embedded.ErrDirectory)
	assert.ErrorContains(t, err, "open already")
	require.NoError(t, s.Close())
	_, err = embedded.Open(ctx, dir, &embedded.Options{Cluster: &embedded.Cluster{
		Name: "c", Node: "n1", Listen: "127.0.0.1:0", Peers: []string{"127.0.0.1:1"}}})
	assert.ErrorIs(t, err, embedded.ErrDirectory)
	assert.ErrorContains(t, err, `a standalone store, not node "n1" of cluster "c"`)
	s = openDir(t, dir, durable.Options{})
	_, err = s.Get(ctx, "k")
	assert.NoError(t, err)
}

func TestAfterCloseEverythingIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{})
	ctx := testContext(t)
	done := make(chan error, 1)
	go func() {
		done <- s.Work(ctx, func(context.Context, durable.Firing) error { return nil }, nil)
	}()
	require.NoError(t, s.Store.Close())
	assert.ErrorIs(t, <-done, durable.ErrClosed)
	_, err := s.Set(ctx, "k", time.Now().Add(time.Hour), nil)
	assert.ErrorIs(t, err, durable.ErrClosed)
	_, err = s.Cancel(ctx, "k")
	assert.ErrorIs(t, err, durable.ErrClosed)
	for _, err := range s.All(ctx) {
		assert.ErrorIs(t, err, durable.ErrClosed)
	}
	require.NoError(t, s.Store.Close())
}
