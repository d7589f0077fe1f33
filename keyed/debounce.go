package keyed

import (
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/check"
)

// Debouncer combines the events of a key into bursts and calls a function per burst instead
// of per event. A burst begins with an event of a key that has no burst. The burst ends
// when the key has had no event for the wait, or at the age MaxWait.
//
// A Debouncer suits work that is needed after a change, however many changes there are,
// such as saving a document, or a mail about new messages. Create a Debouncer with
// [NewDebouncer]. All methods are safe for concurrent use, including in callbacks.
//
// The callback of a trailing edge runs where the timer runs its tasks, no earlier than the
// wait after the last event, unless MaxWait ends the burst. An event that comes before the
// callback begins joins the burst, even if the callback is due. If the timer's executor
// rejects the callback, the callback is due again after a second. The callback of a leading
// edge runs on the goroutine that calls Trigger.
//
// A burst takes as much memory as a pair of a [Wheel] and 16 to 24 bytes. Trigger allocates
// only at the beginning of a burst.
type Debouncer[K comparable, V any] struct {
	wheel    *Wheel[K, burst[V]]    // Immutable after NewDebouncer.
	callback func(key K, value V)   // Immutable after NewDebouncer.
	wait     time.Duration          // Immutable after NewDebouncer.
	options  DebouncerOptions[K, V] // Immutable after NewDebouncer.
	start    time.Time              // Immutable after NewDebouncer.
}

// burst is the value of a key that has had events. A burst without a pending call only
// keeps the next event from beginning another burst.
type burst[V any] struct {
	begin   time.Duration // time from the start of the Debouncer to the beginning of the burst
	value   V             // value of the last event, if pending
	pending bool          // whether the trailing edge calls the callback
}

// NewDebouncer returns a Debouncer on timer with the given wait. The wait must be positive. nil
// options mean the defaults. The timer may have other users; the Debouncer does not stop the
// timer. NewDebouncer returns an error if timer or callback is nil, or if wait or an option is
// out of range.
func NewDebouncer[K comparable, V any](timer hwt.Timer, wait time.Duration, callback func(key K, value V), options *DebouncerOptions[K, V]) (*Debouncer[K, V], error) {
	if err := check.NotNil("keyed", "NewDebouncer", "timer", timer, "an hwt.Timer"); err != nil {
		return nil, err
	}
	if err := check.NotNil("keyed", "NewDebouncer", "callback", callback, "a function"); err != nil {
		return nil, err
	}
	o, err := options.complete(wait)
	if err != nil {
		return nil, err
	}
	d := &Debouncer[K, V]{callback: callback, wait: wait, options: o, start: time.Now()}
	if d.wheel, err = New(timer, d.end, o.wheel()); err == nil && o.Edges == Leading|Trailing {
		d.wheel.continues = d.quiet
	}
	return d, err
}

// Trigger reports an event of key. With a leading edge, the first event of a burst calls the
// callback before Trigger returns. With a trailing edge, value replaces the value of an
// earlier event of the burst. Otherwise Trigger discards value.
//
// Trigger takes constant time. Trigger returns [ErrClosed], [ErrInvalidKey], or the error
// of the timer's NewTimeout. On an error nothing has changed.
func (d *Debouncer[K, V]) Trigger(key K, value V) error {
	begun, err := d.trigger(key, value)
	if begun && d.options.Edges&Leading != 0 {
		d.callback(key, value)
	}
	return err
}

// trigger is Trigger without the call of the leading edge. begun reports whether the event
// began a burst.
func (d *Debouncer[K, V]) trigger(key K, value V) (begun bool, err error) {
	w := d.wheel
	if err := w.usable(key); err != nil {
		return false, err
	}
	s, h := w.stripe(key)
	if joined, err := d.join(s, h, key, value); joined || err != nil {
		return false, err
	}
	p, err := w.newPair(key, d.wait) // without the lock (K2)
	if err != nil {
		return false, err
	}
	if begun, err = d.begin(s, h, p, value); !begun {
		p.event.Cancel()
	}
	return begun, err
}

// join adds an event with value to the burst of key. join returns false if the key has no
// burst.
func (d *Debouncer[K, V]) join(s *stripe[K, burst[V]], h uint32, key K, value V) (joined bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return d.joinLocked(s, h, key, value)
}

func (d *Debouncer[K, V]) joinLocked(s *stripe[K, burst[V]], h uint32, key K, value V) (joined bool, err error) {
	if d.wheel.closed.Load() {
		return false, ErrClosed
	}
	p, _ := s.find(h, key)
	if p == nil {
		return false, nil
	}
	if err := d.postpone(p); err != nil {
		return false, err
	}
	if d.options.Edges&Trailing != 0 {
		p.value.value, p.value.pending = value, true
	}
	return true, nil
}

// begin adds p to the table. If the key has a burst by now, the event of p joins the burst
// instead.
func (d *Debouncer[K, V]) begin(s *stripe[K, burst[V]], h uint32, p *pair[K, burst[V]], value V) (begun bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if joined, err := d.joinLocked(s, h, p.key, value); joined || err != nil {
		return false, err
	}
	if err := p.awaken(d.wait); err != nil {
		return false, err
	}
	p.value.begin = time.Since(d.start)
	if d.options.Edges == Trailing {
		p.value.value, p.value.pending = value, true
	}
	s.add(h, p)
	return true, nil
}

// postpone makes the burst of p end after the wait, or at the greatest age. The caller holds
// the lock of the stripe.
func (d *Debouncer[K, V]) postpone(p *pair[K, burst[V]]) error {
	left := min(d.wait, d.options.MaxWait-(time.Since(d.start)-p.value.begin))
	switch {
	case left > 0 && p.event.Reset(left):
		return nil
	case left <= 0 && p.ending():
		return nil
	}
	return p.armAgain(left)
}

// ending reports whether the event of p is pending, or has fired and the task is on the way, for
// example in the queue of an executor. A Debouncer leaves such an event alone once the burst has
// the greatest age. Otherwise a stream of events that is faster than the queue would postpone the
// call for ever, since the task would always find the event armed again. After retryDelay the task
// counts as lost: the executor rejected the task, and the timer rejected the retry.
func (p *pair[K, V]) ending() bool {
	return !p.event.IsCancelled() && (!p.event.IsExpired() || time.Since(p.event.Deadline()) < retryDelay)
}

// end is the callback of the wheel: the burst of key ends.
func (d *Debouncer[K, V]) end(key K, b burst[V]) {
	if b.pending {
		d.callback(key, b.value)
	}
}

// quiet is called when the burst of p ends, under the lock of the stripe. With both edges, the call
// of the trailing edge is followed by a burst without events, so that the next leading edge comes
// no sooner than the wait after the call. quiet reports whether p stays in the table.
func (d *Debouncer[K, V]) quiet(p *pair[K, burst[V]]) bool {
	if !p.value.pending {
		return false
	}
	p.value = burst[V]{begin: time.Since(d.start)}
	return p.armAgain(d.wait) == nil
}

// GetAndDelete ends the burst of key without a call of the trailing edge. If a call was due
// later, GetAndDelete returns the value and true. To make the call early, call the callback
// with this value.
func (d *Debouncer[K, V]) GetAndDelete(key K) (value V, ok bool) {
	b, _ := d.wheel.GetAndDelete(key)
	return b.value, b.pending
}

// Flush ends all bursts, and calls the trailing edges on up to 8 new goroutines. Flush returns
// after the calls. Use Flush before Close when a program ends. Events of concurrent calls of
// Trigger may begin other bursts. Flush returns [ErrClosed] after Close, and a *[DrainError] if
// a callback panicked or ended its goroutine; all other calls are made nevertheless.
func (d *Debouncer[K, V]) Flush() error {
	return d.wheel.Drain(func(e Entry[K, burst[V]]) { d.end(e.Key, e.Value) })
}

// Len returns the number of keys that have a burst. The number is approximate under
// concurrent changes. Len takes time proportional to the number of processors.
func (d *Debouncer[K, V]) Len() int { return d.wheel.Len() }

// Close ends all bursts without a call, and makes later calls of Trigger and Flush return
// [ErrClosed]. It does not wait for callbacks that are running, and may be called from
// within one. Calls after the first have no effect. Close implements [io.Closer] and always
// returns nil.
func (d *Debouncer[K, V]) Close() error { return d.wheel.Close() }
