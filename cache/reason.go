package cache

import "strconv"

// Reason is the reason for which an entry left the cache.
type Reason int

// The reasons.
const (
	ReasonExpired  Reason = iota + 1 // the TTL is over, or the entry was not used for Sliding
	ReasonCapacity                   // the cache was full
	ReasonDeleted                    // removed by Delete, DeleteFunc, or Clear
	ReasonReplaced                   // replaced by a Set, or removed by a Set because of a TTL or an error
	ReasonClosed                     // removed by Close
)

// String returns the name of the reason in lower case, or "Reason(n)" for a value
// that is not a reason.
func (r Reason) String() string {
	if r < ReasonExpired || r > ReasonClosed {
		return "Reason(" + strconv.Itoa(int(r)) + ")"
	}
	return [...]string{"expired", "capacity", "deleted", "replaced", "closed"}[r-1]
}

// ended is a value that has left the cache, or the zero value.
type ended[K comparable, V any] struct {
	key    K
	value  V
	reason Reason // 0 in the zero value
}
