package keyed

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// retryDelay is the delay of a pair after the timer's executor has rejected its
// callback.
const retryDelay = time.Second

// Run implements [hwt.TimerTask]: it ends the pair and calls the callback.
func (p *pair[K, V]) Run(hwt.Timeout) error {
	w := p.wheel()
	value, ok := w.expire(p)
	if !ok {
		return nil
	}
	w.fired.Add(1)
	usercode.Run(func() { w.callback(p.key, value) }, func(err error) { w.callbackFailed(p.key, value, err) })
	return nil
}

// expire removes p if it is due (K1).
func (w *Wheel[K, V]) expire(p *pair[K, V]) (value V, ok bool) {
	w.due(p, func(s *stripe[K, V], at slot) {
		s.remove(at) // Linearization point of expiry.
		value, ok = p.take(), true
	})
	return value, ok
}

// due calls f with the slot of p, under the lock, if p is in the table and due (K4). If
// p is not yet in the table, due marks it.
func (w *Wheel[K, V]) due(p *pair[K, V], f func(s *stripe[K, V], at slot)) {
	s, h := w.stripe(p.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	current, at := s.find(h, p.key)
	switch {
	case p.handle() == nil:
		p.timeout = early
	case current == p && p.handle().IsExpired():
		f(s, at)
	}
}

// callbackFailed reports that the callback failed with err, to ErrorHandler or with
// its key to the timer.
func (w *Wheel[K, V]) callbackFailed(key K, value V, err error) {
	if w.options.ErrorHandler != nil {
		w.options.ErrorHandler(key, value, err)
		return
	}
	p, ok := err.(*hwt.PanicError)
	if !ok {
		return // the callback ended its goroutine, which the timer reports
	}
	if cause, ok := p.Value.(error); ok {
		panic(withKey(key, cause))
	}
	panic(fmt.Errorf("keyed: key %v: %v", key, p.Value))
}

// Rejected implements [hwt.RejectedTask]: the timer's executor rejected p. It makes the
// pair expire again after retryDelay. If that fails, the pair stays in the wheel without a
// timeout.
func (p *pair[K, V]) Rejected(_ hwt.Timeout, cause error) (err error) {
	w, pending := p.wheel(), false
	var value V
	w.due(p, func(*stripe[K, V], slot) {
		pending, value, err = true, p.value, cause
		again, failed := p.schedule(retryDelay)
		if failed != nil {
			err = errors.Join(cause, failed)
			return
		}
		p.setHandle(again)
	})
	switch {
	case !pending:
		return nil // it has ended, or has another timeout
	case w.options.ErrorHandler == nil:
		return withKey(p.key, err)
	}
	w.options.ErrorHandler(p.key, value, err)
	return nil
}

func withKey[K comparable](key K, err error) error { return fmt.Errorf("keyed: key %v: %w", key, err) }
