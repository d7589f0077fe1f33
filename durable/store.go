package durable

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Store keeps timers in NATS JetStream. Make one with [Open], or with package
// embedded. All methods are safe for concurrent use.
type Store struct {
	js       jetstream.JetStream
	conn     *nats.Conn
	names    names
	options  Options // complete. Immutable after Open.
	shards   int     // Immutable after Open.
	replicas int     // Immutable after Open.
	lead     time.Duration
	log      *slog.Logger
	api      string // the prefix of the server's API. Immutable after Open.
	publish  *publisher
	guard    *guard
	offset   *offset
	sizes    sizes
	counts   counts
	writer   string        // distinguishes this Store in what it writes. Immutable after Open.
	writes   atomic.Uint64 // operations begun
	largest  atomic.Int64  // message that the server takes. Atomic: written by Open and watch.

	closing sync.Once

	mu     sync.Mutex
	closed bool                                // Guarded by mu.
	works  map[*worker]context.CancelCauseFunc // running Works. Guarded by mu.
	idle   sync.Cond                           // works became empty
	ctx    context.Context                     // Ends at Close.
	end    context.CancelCauseFunc
	tasks  sync.WaitGroup // the store's own goroutines
}

// Open opens the store that options name on js, and creates it if it does not
// exist. It waits until the server answers, or ctx ends. The connection of js
// stays the caller's: Close does not close it.
func Open(ctx context.Context, js jetstream.JetStream, options *Options) (*Store, error) {
	if js == nil {
		return nil, fmt.Errorf("durable: Open: %w: js is nil (expected: a jetstream.JetStream)", ErrInvalid)
	}
	o, err := options.complete()
	if err != nil {
		return nil, err
	}
	stored, err := openStreams(ctx, js, o)
	if err != nil {
		return nil, fmt.Errorf("durable: Open %q: %w", o.Name, err)
	}
	publish, err := newPublisher(js.Conn(), o.Timeout)
	if err != nil {
		return nil, err
	}
	s := &Store{
		js:       js,
		conn:     js.Conn(),
		names:    names{o.Name},
		options:  o,
		shards:   stored.shards,
		replicas: stored.replicas,
		lead:     stored.lead,
		log:      o.Logger.With("store", o.Name),
		api:      apiPrefix(js),
		publish:  publish,
		writer:   newWriter(),
		works:    make(map[*worker]context.CancelCauseFunc),
	}
	s.largest.Store(s.conn.MaxPayload())
	s.guard = &guard{limit: stored.maxBytes}
	s.offset = &offset{}
	s.sizes.stats.Shards = make([]ShardStats, s.shards)
	s.idle.L = &s.mu
	s.ctx, s.end = context.WithCancelCause(context.Background())
	s.tasks.Add(1)
	go s.watch()
	return s, nil
}

// apiPrefix returns what the subjects of the server's API begin with.
func apiPrefix(js jetstream.JetStream) string {
	o := js.Options()
	switch {
	case o.Domain != "":
		return "$JS." + o.Domain + ".API."
	case o.APIPrefix != "":
		return trimDot(o.APIPrefix) + "."
	}
	return jetstream.DefaultAPIPrefix
}

func trimDot(s string) string {
	if n := len(s); n > 0 && s[n-1] == '.' {
		return s[:n-1]
	}
	return s
}

// Name returns the store's name.
func (s *Store) Name() string { return s.options.Name }

// Shards returns over how many streams the store is spread.
func (s *Store) Shards() int { return s.shards }

// Close ends every Work, waits until it has drained, and releases what the store
// holds. Every other method then returns ErrClosed. What is pending stays stored.
// Close does not close the connection. Further calls wait for the first. A handler
// must not call it, since it waits for the handlers.
func (s *Store) Close() error {
	s.closing.Do(s.close)
	return nil
}

func (s *Store) close() {
	s.mu.Lock()
	s.closed = true
	for _, cancel := range s.works {
		cancel(ErrClosed)
	}
	for len(s.works) > 0 {
		s.idle.Wait()
	}
	s.mu.Unlock()
	s.end(ErrClosed)
	s.publish.close()
	s.tasks.Wait()
}

// operation returns a name for one operation of this store, which lets it
// recognize what it wrote itself.
func (s *Store) operation() string {
	return fmt.Sprintf("%s-%d", s.writer, s.writes.Add(1))
}

// now returns the time by the store's clock.
func (s *Store) now() time.Time { return s.options.Now() }

// wrap adds the operation and the key to err.
func wrap(operation, key string, err error) error {
	return fmt.Errorf("durable: %s %q: %w", operation, key, err)
}
