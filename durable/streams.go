package durable

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The metadata of a store's streams.
const (
	metaFormat   = "hwt-format"
	metaShards   = "hwt-shards"
	metaLead     = "hwt-lead"
	metaMaxBytes = "hwt-max-bytes"
	format       = "1"
)

// layout is what is stored about a store as a whole.
type layout struct {
	shards   int
	replicas int
	lead     time.Duration
	maxBytes int64 // of all shards; 0 is no limit
}

func (l layout) String() string {
	return fmt.Sprintf("Shards: %d, Lead: %v, MaxBytes: %d", l.shards, l.lead, l.maxBytes)
}

// layout returns the layout of a store to be created.
func (o Options) layout() layout {
	l := layout{o.Shards, max(o.Replicas, 1), o.Lead, o.MaxBytes}
	if l.shards == 0 {
		l.shards = 4
		if l.replicas > 1 {
			l.shards = 16
		}
	}
	if l.lead == 0 {
		l.lead = DefaultLead
	}
	return l
}

// openStreams finds or creates the streams and consumers of a store.
func openStreams(ctx context.Context, js jetstream.JetStream, o Options) (layout, error) {
	n := names{o.Name}
	l := o.layout()
	first, err := findStream(ctx, js, n.stream(0))
	switch {
	case err == nil:
		if l, err = readLayout(n, first.CachedInfo()); err != nil {
			return l, err
		}
		if err := o.agree(l); err != nil {
			return l, err
		}
	case !errors.Is(err, jetstream.ErrStreamNotFound):
		return l, fmt.Errorf("stream %s: %w", n.stream(0), err)
	case o.MustExist:
		return l, ErrNoStore
	}
	streams := make([]jetstream.Stream, l.shards) // all are found before any is created
	for shard := range streams {
		if streams[shard], err = findShard(ctx, js, n, l, shard); err != nil {
			return l, fmt.Errorf("stream %s: %w", n.stream(shard), err)
		}
	}
	// Shard 0 is created last: a store whose creation was cut short has none, and
	// is created again.
	for shard, stream := range slices.Backward(streams) {
		if err := openShard(ctx, js, n, l, shard, stream, o.MaxLeased); err != nil {
			return l, fmt.Errorf("stream %s: %w", n.stream(shard), err)
		}
	}
	return l, nil
}

// findShard returns the stream of one shard, or nil if it does not exist. One of
// another layout is left of a creation that was cut short. Only its replicas may
// differ, since an operator changes them one stream at a time.
func findShard(ctx context.Context, js jetstream.JetStream, n names, l layout, shard int) (jetstream.Stream, error) {
	stream, err := findStream(ctx, js, n.stream(shard))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := readLayout(n, stream.CachedInfo())
	if err != nil {
		return nil, err
	}
	if found.replicas = l.replicas; found != l {
		return nil, fmt.Errorf("%w: it was made for %v (expected: %v)", ErrForeignStream, found, l)
	}
	return stream, nil
}

// openShard creates the consumer of one shard, and the stream if it is nil.
func openShard(ctx context.Context, js jetstream.JetStream, n names, l layout, shard int, stream jetstream.Stream, maxLeased int) error {
	if stream == nil {
		err := patiently(ctx, func(ctx context.Context) (err error) {
			stream, err = js.CreateStream(ctx, streamConfig(n, l, shard))
			return err
		})
		if err != nil {
			return err
		}
	}
	return patiently(ctx, func(ctx context.Context) error {
		_, err := stream.CreateOrUpdateConsumer(ctx, consumerConfig(n, l, shard, maxLeased))
		return err
	})
}

func findStream(ctx context.Context, js jetstream.JetStream, name string) (stream jetstream.Stream, err error) {
	err = patiently(ctx, func(ctx context.Context) error {
		stream, err = js.Stream(ctx, name)
		return err
	})
	return stream, err
}

// apiTimeout is how long one request that opens a store may take. A cluster that
// is electing leaders drops requests.
const apiTimeout = 3 * time.Second

// patiently calls f until the server answers it, or ctx ends.
func patiently(ctx context.Context, f func(context.Context) error) error {
	for {
		once, cancel := context.WithTimeout(ctx, apiTimeout)
		err := f(once)
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !isPassing(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// isPassing reports whether err is that of a server that does not answer, or of a
// cluster without a majority or a leader.
func isPassing(err error) bool {
	if api := (*jetstream.APIError)(nil); errors.As(err, &api) {
		switch api.ErrorCode {
		case codeNotAvailable, codeNotLeader, codeStreamOffline, codeConsumerOffline:
			return true
		}
		return false
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout)
}

// duplicates is the shortest window that the server takes for messages with IDs.
// The store's have none, and a start of the server reads all messages of the
// window.
const duplicates = 100 * time.Millisecond

func streamConfig(n names, l layout, shard int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        n.stream(shard),
		Description: fmt.Sprintf("timers of store %s, shard %d of %d", n.store, shard, l.shards),
		Subjects:    []string{n.prefix(shard) + ">"},
		Retention:   jetstream.WorkQueuePolicy,
		Storage:     jetstream.FileStorage,
		Replicas:    l.replicas,
		// Purges and rollups are how schedules and fates are replaced.
		Compression:        jetstream.S2Compression, // headers repeat themselves
		AllowRollup:        true,
		AllowDirect:        true,
		AllowMsgTTL:        true,
		AllowMsgSchedules:  true,
		AllowAtomicPublish: true,
		Duplicates:         duplicates,
		Metadata: map[string]string{
			metaFormat: format,
			metaShards: strconv.Itoa(l.shards),
			metaLead:   l.lead.String(),
			// The server's own limit cannot be used: with schedules it drops the
			// oldest messages instead of refusing new ones.
			metaMaxBytes: strconv.FormatInt(l.maxBytes, 10),
		},
	}
}

// The lease: a timer is handed out up to the lead before it is due, and the
// request that fetched it may be fetchWait old by then.
const (
	consumerName = "work"
	fetchWait    = 2 * time.Second
	leaseSlack   = 3 * time.Second
)

func ackWait(lead time.Duration) time.Duration { return lead + fetchWait + leaseSlack }

func consumerConfig(n names, l layout, shard, maxLeased int) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       consumerName,
		FilterSubject: n.all(shard, kindDue),
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       ackWait(l.lead),
		MaxAckPending: maxLeased,
		MaxDeliver:    -1,
	}
}

// readLayout reads what a stream says about its store.
func readLayout(n names, info *jetstream.StreamInfo) (layout, error) {
	c := info.Config
	foreign := func(format string, args ...any) (layout, error) {
		return layout{}, fmt.Errorf("%w: %s: "+format, append([]any{ErrForeignStream, c.Name}, args...)...)
	}
	if c.Metadata[metaFormat] != format {
		return foreign("metadata %s: %q (expected: %q)", metaFormat, c.Metadata[metaFormat], format)
	}
	if c.Retention != jetstream.WorkQueuePolicy || !c.AllowMsgSchedules || !c.AllowMsgTTL || !c.AllowDirect {
		return foreign("its settings were changed (expected: work-queue retention with schedules, message TTLs and direct gets)")
	}
	shards, err := strconv.Atoi(c.Metadata[metaShards])
	if err != nil || shards < 1 || shards > MaxShards {
		return foreign("metadata %s: %q (expected: 1 to %d)", metaShards, c.Metadata[metaShards], MaxShards)
	}
	lead, err := time.ParseDuration(c.Metadata[metaLead])
	if err != nil {
		return foreign("metadata %s: %q (expected: a duration)", metaLead, c.Metadata[metaLead])
	}
	maxBytes, err := strconv.ParseInt(c.Metadata[metaMaxBytes], 10, 64)
	if err != nil || maxBytes < 0 {
		return foreign("metadata %s: %q (expected: 0 or more)", metaMaxBytes, c.Metadata[metaMaxBytes])
	}
	if c.MaxBytes > 0 || c.MaxMsgs > 0 || c.MaxAge > 0 || c.MaxMsgsPerSubject > 0 {
		return foreign("it has limits, which would drop timers (expected: none)")
	}
	return layout{shards, c.Replicas, lead, maxBytes}, nil
}

// agree returns an error if the options ask for another layout than is stored.
func (o Options) agree(l layout) error {
	differs := func(field string, asked, stored any) error {
		return fmt.Errorf("%w: Options.%s: %v (expected: 0, or %v as stored)", ErrInvalid, field, asked, stored)
	}
	switch {
	case o.Shards != 0 && o.Shards != l.shards:
		return differs("Shards", o.Shards, l.shards)
	case o.Replicas != 0 && o.Replicas != l.replicas:
		return differs("Replicas", o.Replicas, l.replicas)
	case o.Lead != 0 && o.Lead != l.lead:
		return differs("Lead", o.Lead, l.lead)
	case o.MaxBytes != 0 && o.MaxBytes != l.maxBytes:
		return differs("MaxBytes", o.MaxBytes, l.maxBytes)
	}
	return nil
}

// newWriter returns a name that no other Store has.
func newWriter() string { return rand.Text()[:12] }
