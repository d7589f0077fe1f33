package keyed

import (
	"errors"
	"fmt"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// retryDelay is the delay of a pair after the timer's executor has rejected its
// callback.
const retryDelay = time.Second

// Run implements [hwt.TimerTask]: it ends the pair and calls the callback.
func (a *alarm[K, V]) Run(hwt.Timeout) error {
	w := a.wheel
	value, ok := w.expire(a)
	if !ok {
		return nil
	}
	w.fired.Add(1)
	usercode.Run(func() { w.callback(a.key, value) }, func(err error) { w.callbackFailed(a.key, value, err) })
	return nil
}

// expire deletes the pair of a's key, if there is one and it is due (K1).
func (w *Wheel[K, V]) expire(a *alarm[K, V]) (value V, ok bool) {
	w.pairs.Compute(a.key, func(p pair[K, V], known bool) (pair[K, V], xsync.ComputeOp) {
		if !known || !p.timeout.IsExpired() { // K5
			return p, xsync.CancelOp
		}
		value, ok = p.value, true
		return p, xsync.DeleteOp // Linearization point of expiry.
	})
	return value, ok
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

// Refused implements [hwt.RefusedTask]: the timer's executor rejected a.
func (a *alarm[K, V]) Refused(_ hwt.Timeout, refusal error) error {
	value, ok, err := a.wheel.retry(a)
	switch {
	case !ok:
		return nil // the pair has ended, or has another timeout
	case err != nil:
		err = errors.Join(refusal, err)
	default:
		err = refusal
	}
	if a.wheel.options.ErrorHandler == nil {
		return withKey(a.key, err)
	}
	a.wheel.options.ErrorHandler(a.key, value, err)
	return nil
}

// retry makes the pair of a's key expire again after retryDelay, if there is one and
// it is due. If that fails, the pair stays in the map without a timeout.
func (w *Wheel[K, V]) retry(a *alarm[K, V]) (value V, ok bool, err error) {
	w.pairs.Compute(a.key, func(p pair[K, V], known bool) (pair[K, V], xsync.ComputeOp) {
		if !known || !p.timeout.IsExpired() { // K5
			return p, xsync.CancelOp
		}
		value, ok = p.value, true
		var again hwt.Timeout
		if again, err = w.schedule(a.key, retryDelay); err != nil {
			return p, xsync.CancelOp
		}
		return pair[K, V]{value, again}, xsync.UpdateOp
	})
	return value, ok, err
}

func withKey[K comparable](key K, err error) error { return fmt.Errorf("keyed: key %v: %w", key, err) }
