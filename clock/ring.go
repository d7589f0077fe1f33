package clock

import (
	"cmp"
	"slices"
	"time"
)

// ring is a circular doubly linked list of tickers, linked through the tickers
// themselves. The zero value is empty. The lock of the group guards it.
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

// dropHead makes the ticker after t the head if t is the head. t may be in another
// ring. Afterwards t.unlink removes it.
func (r *ring) dropHead(t *Ticker) {
	if r.head != t {
		return
	}
	r.head = t.next
	if t.next == t {
		r.head = nil
	}
}

// unlink removes t from its ring. t must not be a head.
func (t *Ticker) unlink() {
	t.prev.next, t.next.prev = t.next, t.prev
	t.next, t.prev = nil, nil
}

// pop removes the head.
func (r *ring) pop() *Ticker {
	t := r.head
	r.dropHead(t)
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

// takeUntil removes the tickers at the front that are due at then or earlier.
func (r *ring) takeUntil(then time.Duration) (early ring) {
	for r.head != nil && r.head.due <= then {
		early.push(r.pop())
	}
	return early
}

// takeAfter removes the tickers at the back that are due later than then.
func (r *ring) takeAfter(then time.Duration) (later ring) {
	for r.head != nil && r.head.prev.due > then {
		last := r.head.prev
		r.dropHead(last)
		last.unlink()
		later.push(last)
		later.head = last
	}
	return later
}

// merge empties two rings in order into one ring in order.
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
