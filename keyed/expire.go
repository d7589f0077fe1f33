package keyed

import (
	"errors"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// retryDelay is the delay of a pair after the timer's executor has rejected the callback.
const retryDelay = time.Second

// Run implements [hwt.TimerTask]: Run ends the pair and calls the callback.
func (t *task[K, V]) Run(timeout hwt.Timeout) error {
	w := t.wheel()
	p, err := pairOf[K, V](timeout)
	if err != nil {
		return err
	}
	value, ok := w.expire(p)
	if !ok {
		return nil
	}
	w.fired.Add(1)
	usercode.Run(func() { w.callback(p.key, value) }, func(err error) { w.report(p.key, value, err) })
	return nil
}

// expire removes a due p (K1). The burst of a Debouncer may continue.
func (w *Wheel[K, V]) expire(p *pair[K, V]) (value V, ok bool) {
	w.due(p, func(s *stripe[K, V], at slot) {
		value, ok = p.value, true
		if w.continues == nil || !w.continues(p) {
			s.remove(at) // Linearization point of expiry.
			p.take()
		}
	})
	return value, ok
}

// due calls f with the slot of p, under the lock, if p is in the table and due (K4).
func (w *Wheel[K, V]) due(p *pair[K, V], f func(s *stripe[K, V], at slot)) {
	s, h := w.stripe(p.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if current, at := s.find(h, p.key); current == p && p.event.IsExpired() {
		f(s, at)
	}
}

// report passes a failure to the ErrorHandler, or logs the failure.
func (w *Wheel[K, V]) report(key K, value V, err error) {
	if w.options.ErrorHandler != nil {
		w.options.ErrorHandler(key, value, err)
		return
	}
	attrs := []any{"wheel", w.options.Name, "key", key, "error", err}
	var broken *hwt.PanicError
	if errors.As(err, &broken) {
		attrs = append(attrs, "stack", string(broken.Stack))
	}
	w.options.Logger.Error("keyed: callback failed", attrs...)
}

// Rejected implements [hwt.RejectedTask]: the timer's executor rejected the task. The pair
// expires again after retryDelay. If the event cannot be armed, the pair stays in the wheel
// without a pending event.
func (t *task[K, V]) Rejected(timeout hwt.Timeout, cause error) (err error) {
	w, pending := t.wheel(), false
	p, err := pairOf[K, V](timeout)
	if err != nil {
		return errors.Join(cause, err)
	}
	var value V
	w.due(p, func(*stripe[K, V], slot) {
		pending, value, err = true, p.value, cause
		if failed := p.armAgain(retryDelay); failed != nil {
			err = errors.Join(cause, failed)
		}
	})
	if pending { // the pair has neither ended nor another timeout
		w.report(p.key, value, err)
	}
	return nil
}
