package storetest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

// wireTimer is a timer as WIRE.md describes it, made with the plain NATS client.
type wireTimer struct {
	key    string
	shards uint64
	gen    int64
}

func (w wireTimer) prefix() string {
	h := fnv.New64a()
	h.Write([]byte(w.key))
	return fmt.Sprintf("hwt.timers.%02d.", h.Sum64()%w.shards)
}

func (w wireTimer) subject(kind string) string {
	token := base64.RawURLEncoding.EncodeToString([]byte(w.key))
	return w.prefix() + kind + "." + token + "." + strconv.FormatInt(w.gen, 10)
}

func (w wireTimer) versions() string {
	return w.prefix() + "*." + base64.RawURLEncoding.EncodeToString([]byte(w.key)) + ".*"
}

// set returns the message that sets the timer, if the key has none.
func (w wireTimer) set(due time.Time, lead time.Duration, payload string) *nats.Msg {
	msg := nats.NewMsg(w.subject("at"))
	msg.Data = []byte(payload)
	msg.Header.Set("Hwt-Due", strconv.FormatInt(due.UnixNano(), 10))
	msg.Header.Set("Nats-Schedule", "@at "+due.Add(-lead).UTC().Format("2006-01-02T15:04:05.000Z"))
	msg.Header.Set("Nats-Schedule-Target", w.subject("due"))
	msg.Header.Set("Nats-Expected-Last-Subject-Sequence", "0")
	msg.Header.Set("Nats-Expected-Last-Subject-Sequence-Subject", w.versions())
	return msg
}

// cancel returns the message that cancels the timer, if its message is the one
// with the sequence.
func (w wireTimer) cancel(seq uint64) *nats.Msg {
	msg := nats.NewMsg(w.subject("fate.of"))
	msg.Header.Set("Hwt-Fate", "cancelled")
	msg.Header.Set("Hwt-By", "a test")
	msg.Header.Set("Nats-TTL", "1h")
	msg.Header.Set("Nats-Schedule-Next", "purge")
	msg.Header.Set("Nats-Scheduler", w.subject("at"))
	msg.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(seq, 10))
	msg.Header.Set("Nats-Expected-Last-Subject-Sequence-Subject", w.versions())
	return msg
}

// TestAPlainClientSetsAndCancels does what WIRE.md says, without this library.
func TestAPlainClientSetsAndCancels(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{Lead: time.Second, Shards: 3})
	ctx := testContext(t)
	js, err := jetstream.New(s.Conn())
	require.NoError(t, err)
	due := time.Now().Add(2 * time.Second)
	fires := wireTimer{"order-17", 3, time.Now().UnixNano()}
	_, err = js.PublishMsg(ctx, fires.set(due, time.Second, "check"))
	require.NoError(t, err)
	goes := wireTimer{"order-18", 3, time.Now().UnixNano()}
	ack, err := js.PublishMsg(ctx, goes.set(due, time.Second, "check"))
	require.NoError(t, err)

	_, err = js.PublishMsg(ctx, fires.set(due, time.Second, "again"))
	var refused *jetstream.APIError
	require.True(t, errors.As(err, &refused))
	assert.EqualValues(t, 10071, refused.ErrorCode, "the key has a timer")

	seen, err := s.Get(ctx, "order-17")
	require.NoError(t, err)
	assert.Equal(t, due.UnixNano(), seen.Due.UnixNano())
	assert.EqualValues(t, fires.gen, seen.Generation)
	_, err = js.PublishMsg(ctx, goes.cancel(ack.Sequence))
	require.NoError(t, err)
	_, err = s.Get(ctx, "order-18")
	assert.ErrorIs(t, err, durable.ErrNotFound)

	got := newFirings()
	stop := work(t, s.Store, got.handle, nil)
	list := got.wait(t, 1)
	assert.Equal(t, "order-17", list[0].Key)
	assert.Equal(t, []byte("check"), list[0].Payload)
	time.Sleep(500 * time.Millisecond)
	stop()
	assert.Len(t, got.all(), 1)
}
