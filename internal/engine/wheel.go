package engine

import "github.com/hashedwheel/hwt/internal/engine/store"

// Wheel is the place where timeouts wait for a tick. Ticks are numbered from the timer's
// start; tick n has come once n tick durations have passed. All methods are called by the
// holder of Core.mu.
type Wheel interface {
	// MoveTo makes tick the current tick. MoveTo never passes over a tick at which Next has
	// announced an expiry, and never goes back. Expire follows, unless tick is before Next.
	MoveTo(tick int64)

	// Add adds n, to expire at tick, or earlier if that suits the wheel: the core stores a
	// timeout again if the deadline has not passed. tick is at least the current tick.
	Add(n *store.Node, tick int64)

	// Remove removes a timeout that was added.
	Remove(n *store.Node)

	// Bucket returns the bucket to which Add would add for tick, or false if only
	// Add finds it.
	Bucket(tick int64) (i uint32, ok bool)

	// Expire removes the timeouts of the current tick and appends them to due.
	Expire(due []*store.Node) []*store.Node

	// Next returns a tick, after the current one once that has expired, before
	// which no timeout expires; the largest int64 if the wheel is empty.
	Next() int64

	// Peek appends to nodes the timeouts that Expire would remove at tick, and possibly some
	// with later deadlines. Next must have returned tick. Peek returns false if there are more
	// than limit, or if counting them would take long.
	Peek(tick int64, limit int, nodes []*store.Node) ([]*store.Node, bool)

	// Held returns the buckets of all added timeouts. Held always returns the same pointer.
	Held() *store.Buckets

	// Rings appends the rings of buckets, with the spans in ticks, the finest first.
	Rings(rings []Ring) []Ring
}

// Ring is one ring of a wheel's buckets. The buckets have consecutive numbers in
// [store.Buckets].
type Ring struct {
	First   uint32 // number of the ring's bucket 0
	Buckets int
	Span    int64 // ticks that a bucket stands for
}
