package clock

import (
	"cmp"
	"slices"
	"time"
)

// ring is a circular list of tickers, threaded through them, so that one that
// leaves takes constant time. The zero value is empty. A ring's methods are for
// the holder of its flock's lock.
type ring struct {
	head *Ticker
}

// push adds t at the back.
func (r *ring) push(t *Ticker) {
	if r.head == nil {
		t.next, t.prev = t, t
		r.head = t
		return
	}
	t.next, t.prev = r.head, r.head.prev
	t.prev.next, t.next.prev = t, t
}

// behead makes sure that t, which may be in another ring, is not the head. What
// is then left to do is t.unlink.
func (r *ring) behead(t *Ticker) {
	if r.head != t {
		return
	}
	r.head = t.next
	if t.next == t {
		r.head = nil
	}
}

// unlink takes t, which is no head, out of its ring.
func (t *Ticker) unlink() {
	t.prev.next, t.next.prev = t.next, t.prev
	t.next, t.prev = nil, nil
}

// pop takes out the head.
func (r *ring) pop() *Ticker {
	t := r.head
	r.behead(t)
	t.unlink()
	return t
}

// splice moves all of other to the back.
func (r *ring) splice(other ring) {
	switch {
	case other.head == nil:
	case r.head == nil:
		r.head = other.head
	default:
		last, end := r.head.prev, other.head.prev
		last.next, other.head.prev = other.head, last
		end.next, r.head.prev = r.head, end
	}
}

// until takes out those in front that are due by then.
func (r *ring) until(then time.Duration) (early ring) {
	for r.head != nil && r.head.due <= then {
		early.push(r.pop())
	}
	return early
}

// after takes out those at the back that are due later than then.
func (r *ring) after(then time.Duration) (rest ring) {
	for r.head != nil && r.head.prev.due > then {
		last := r.head.prev
		r.behead(last)
		last.unlink()
		rest.push(last)
		rest.head = last
	}
	return rest
}

// merge empties both rings, which are in order, into one that is.
func (r *ring) merge(other ring) (both ring) {
	for r.head != nil && other.head != nil {
		if other.head.due < r.head.due {
			both.push(other.pop())
		} else {
			both.push(r.pop())
		}
	}
	both.splice(*r)
	both.splice(other)
	return both
}

// sort puts the ring in order.
func (r *ring) sort() {
	var all []*Ticker
	for r.head != nil {
		all = append(all, r.pop())
	}
	slices.SortStableFunc(all, func(a, b *Ticker) int { return cmp.Compare(a.due, b.due) })
	for _, t := range all {
		r.push(t)
	}
}
