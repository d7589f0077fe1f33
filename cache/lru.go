package cache

// lru is a list of uses, the latest first, threaded through the entries'
// nodes, so that noting a use needs no look-up. Its zero value is empty; all
// operations take constant time. Guarded by its stripe's mu.
type lru[K comparable] struct {
	root node[K] // its next is the latest used, its prev the longest unused
	len  int
}

// node is what an entry has besides its value: its place in the list, if there is
// a limit, and its deadline, if expiry is exact.
type node[K comparable] struct {
	key        K        // Immutable.
	deadline   int64    // nanoseconds since the cache's start, if expiry is exact. Immutable.
	next, prev *node[K] // nil if not in the list. Guarded by the stripe's mu.
}

func (n *node[K]) linked() bool { return n.next != nil }

// push puts n, which is in no list, in front.
func (l *lru[K]) push(n *node[K]) {
	if l.root.next == nil {
		l.root.next, l.root.prev = &l.root, &l.root
	}
	l.link(n)
	l.len++
}

// use moves n to the front, if it is in the list.
func (l *lru[K]) use(n *node[K]) {
	if n.linked() && l.root.next != n {
		n.unlink()
		l.link(n)
	}
}

// remove takes n out of the list, if it is there.
func (l *lru[K]) remove(n *node[K]) {
	if n.linked() {
		n.unlink()
		n.next, n.prev = nil, nil
		l.len--
	}
}

// oldest returns the longest unused node of a list that is not empty.
func (l *lru[K]) oldest() *node[K] { return l.root.prev }

// clear empties the list.
func (l *lru[K]) clear() {
	for l.len > 0 {
		l.remove(l.oldest())
	}
}

func (l *lru[K]) link(n *node[K]) {
	n.prev, n.next = &l.root, l.root.next
	n.prev.next, n.next.prev = n, n
}

func (n *node[K]) unlink() { n.prev.next, n.next.prev = n.next, n.prev }
