package keyed

import (
	"math"
	"time"

	"github.com/hashedwheel/hwt"
)

// Set schedules value under key, to expire delay from now. A known key gets the
// new value and the new delay; no callback runs for the old value.
// A pair with a delay of zero or less expires at the next opportunity. To spread pairs that are
// set together, pass [hwt.Jitter] of the delay.
//
// Set takes constant time. For an unknown key Set makes one allocation, or some more if the
// timer is not an [hwt.EventTimer]. For a known key, Set resets the timeout. While several
// goroutines set the same unknown key, each takes a place in the timer's pending limit.
//
// Set returns ErrClosed, ErrInvalidKey, or the error of the timer's NewTimeout. On an
// error nothing has changed.
func (w *Wheel[K, V]) Set(key K, value V, delay time.Duration) error {
	_, err := w.set(key, &value, delay, always)
	return err
}

// SetIfAbsent is Set for an unknown key. If key is known, SetIfAbsent changes nothing and
// returns false.
func (w *Wheel[K, V]) SetIfAbsent(key K, value V, delay time.Duration) (set bool, err error) {
	return w.set(key, &value, delay, ifAbsent)
}

// SetIfSooner is Set for a key that is unknown, or has a pair due later than delay from
// now. Otherwise SetIfSooner changes nothing and returns false. A pair with an expired
// timeout stays unchanged.
func (w *Wheel[K, V]) SetIfSooner(key K, value V, delay time.Duration) (set bool, err error) {
	return w.set(key, &value, delay, ifSooner)
}

// Move makes the pair of key expire delay from now, with the delay's meaning as in Set.
// Move reports whether there was a pair; an unknown key is not an error.
//
// Move takes constant time and allocates nothing, except if the pair's timeout has expired
// and the callback has not begun: the pair then gets a new timeout, at the cost of a Set.
//
// Move returns ErrClosed, ErrInvalidKey, or the error of the timer's NewTimeout. On an
// error nothing has changed.
func (w *Wheel[K, V]) Move(key K, delay time.Duration) (moved bool, err error) {
	return w.set(key, nil, delay, ifKnown)
}

// condition is the condition of an operation that sets a key.
type condition int

const (
	always   condition = iota
	ifAbsent           // SetIfAbsent
	ifSooner           // SetIfSooner
	ifKnown            // Move
)

// holds reports whether c holds for a key with the event current. For an unknown key, current
// is nil.
func (c condition) holds(current *hwt.Event, delay time.Duration) bool {
	switch c {
	case ifAbsent:
		return current == nil
	case ifSooner:
		return current == nil || isLater(current, delay)
	case ifKnown:
		return current != nil
	}
	return true
}

// isLater reports whether e is due later than delay from now.
func isLater(e *hwt.Event, delay time.Duration) bool {
	due := e.Deadline()
	return due.IsZero() && delay < math.MaxInt64 || time.Until(due) > max(delay, 0)
}

// set sets the delay of key if c holds, and the value unless value is nil. set reports
// whether c held.
func (w *Wheel[K, V]) set(key K, value *V, delay time.Duration, c condition) (ok bool, err error) {
	if err := w.usable(key); err != nil {
		return false, err
	}
	s, h := w.stripe(key)
	ok, done, err := w.setKnown(s, h, key, value, delay, c)
	if done {
		return ok, err
	}
	p, err := w.newPair(key, delay) // without the lock (K2)
	if err != nil {
		return false, err
	}
	ok, added, err := w.add(s, h, p, value, delay, c)
	if !added {
		p.event.Cancel()
	}
	return ok, err
}

// setKnown is set for a pair with an event that can be reset, and if c does not hold. done is
// false if set needs a new pair.
func (w *Wheel[K, V]) setKnown(s *stripe[K, V], h uint32, key K, value *V, delay time.Duration, c condition) (ok, done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, _ := s.find(h, key)
	return w.reset(s, old, value, delay, c)
}

// reset is setKnown for the pair old. For an unknown key, old is nil. The caller holds the lock
// of s.
func (w *Wheel[K, V]) reset(s *stripe[K, V], old *pair[K, V], value *V, delay time.Duration, c condition) (ok, done bool, err error) {
	var current *hwt.Event
	if old != nil {
		current = &old.event
	}
	switch {
	case w.closed.Load():
		return false, true, ErrClosed
	case !c.holds(current, delay):
		return false, true, nil // Linearization point if c does not hold.
	case old == nil || !current.Reset(delay):
		return false, false, nil
	}
	if value != nil {
		s.change(old, *value)
	}
	return true, true, nil // Linearization point for a known key.
}

// add puts p into the table, unless c does not hold, or the table now has a pair of the key
// with an event that can be reset.
func (w *Wheel[K, V]) add(s *stripe[K, V], h uint32, p *pair[K, V], value *V, delay time.Duration, c condition) (ok, added bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, at := s.find(h, p.key)
	ok, done, err := w.reset(s, old, value, delay, c)
	if done {
		return ok, false, err
	}
	if err := p.awaken(0); err != nil {
		return false, false, err
	}
	if value != nil {
		p.value = *value
	} else {
		p.value = old.value
	}
	if old != nil { // the event of old has fired
		s.remove(at)
		old.take()
	}
	s.add(h, p) // Linearization point for a new pair.
	return true, true, nil
}

// Delete deletes the pair of key. The callback of the pair does not run. Delete reports
// whether there was a pair. Delete takes constant time and allocates nothing.
//
// After Close, Delete returns false: Close has cancelled every pair, so the callback does
// not run, and the caller has nothing to do about an error.
func (w *Wheel[K, V]) Delete(key K) (deleted bool) {
	_, deleted = w.GetAndDelete(key)
	return deleted
}

// GetAndDelete is Delete that also returns the value of the pair.
func (w *Wheel[K, V]) GetAndDelete(key K) (value V, ok bool) {
	if w.usable(key) != nil {
		return value, false
	}
	p := w.remove(key)
	if p == nil {
		return value, false
	}
	p.event.Cancel() // false if the event has expired: the task will find nothing
	return p.take(), true
}

// remove removes the pair of key from the table. remove returns the pair, or nil if the key
// has no pair.
func (w *Wheel[K, V]) remove(key K) *pair[K, V] {
	s, h := w.stripe(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	p, at := s.find(h, key)
	if p != nil {
		s.remove(at) // Linearization point of Delete and GetAndDelete.
	}
	return p
}
