// Package gozero has the TimingWheel and the Cache of go-zero's core/collection, on
// packages keyed and cache. Both are adapters for programs that cannot change their
// calls yet; docs/migration/go-zero.md describes the change.
package gozero

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/keyed"
)

// Errors of [TimingWheel], with the texts of go-zero.
var (
	ErrClosed   = errors.New("TimingWheel is closed already")
	ErrArgument = errors.New("incorrect task argument")
)

// TimingWheel runs tasks by key after a delay.
type TimingWheel struct {
	wheel   *keyed.Wheel[any, any]
	stopped atomic.Bool // Atomic: written by Stop, read by RemoveTimer.
}

// NewTimingWheel returns a wheel that calls execute where timer runs its tasks.
// Several wheels may share a timer, and Stop does not stop it.
func NewTimingWheel(timer hwt.Timer, execute func(key, value any)) (*TimingWheel, error) {
	wheel, err := keyed.New(timer, execute, nil)
	if err != nil {
		return nil, err
	}
	return &TimingWheel{wheel: wheel}, nil
}

// SetTimer sets the value and the delay of key.
func (w *TimingWheel) SetTimer(key, value any, delay time.Duration) error {
	if delay <= 0 || key == nil {
		return ErrArgument
	}
	return translated(w.wheel.Set(key, value, delay))
}

// MoveTimer changes the delay of key, if it is pending.
func (w *TimingWheel) MoveTimer(key any, delay time.Duration) error {
	if delay <= 0 || key == nil {
		return ErrArgument
	}
	_, err := w.wheel.Move(key, delay)
	return translated(err)
}

// RemoveTimer removes key.
func (w *TimingWheel) RemoveTimer(key any) error {
	if key == nil {
		return ErrArgument
	}
	if w.stopped.Load() {
		return ErrClosed
	}
	w.wheel.Delete(key)
	return nil
}

// Drain removes all keys, calls fn with each, and returns after the last call.
func (w *TimingWheel) Drain(fn func(key, value any)) error {
	return translated(w.wheel.Drain(func(e keyed.Entry[any, any]) { fn(e.Key, e.Value) }))
}

// Stop cancels all tasks.
func (w *TimingWheel) Stop() {
	w.stopped.Store(true)
	w.wheel.Close()
}

func translated(err error) error {
	if errors.Is(err, keyed.ErrClosed) {
		return ErrClosed
	}
	return err
}
