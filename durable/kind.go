package durable

import "github.com/hashedwheel/hwt/durable/backend"

// kind is a part of the keys of a Work, with its options. Each kind has its own queue, goroutines,
// and share of the memory, so that no kind waits for another. Each kind has its own position in the order of due
// times, too, unless together has one for all kinds. All kinds share the lease, the wheel, and the batches of claims and
// outcomes, so that a hundred kinds cost no more than one.
type kind struct {
	pattern string      // of the Mux, or "" without one. Immutable.
	name    string      // prefix of the keys, with the slash at its end, or "" for all other keys. Immutable.
	index   int         // in the kinds of the Work. Immutable.
	options WorkOptions // Immutable.
	counts  *kindCounts
	memory  *memory // Immutable.
}

// kinds are the kinds of a Work by name. They are immutable.
type kinds map[string]*kind

// of returns the kind of a key, or nil if the Work leaves the key to others.
func (ks kinds) of(key string) *kind {
	if k := ks[backend.KindOf(key)]; k != nil {
		return k
	}
	return ks[""]
}
