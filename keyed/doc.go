// Package keyed gives timers names: a value is set under a key to come due
// after a delay, and is moved, removed or drained by that key. It is the timing
// wheel of go-zero's core/collection on any hwt.Timer.
//
// Take it where the thing that times out has an identity of its own: a session,
// an order, a cache entry, a device that has to report. Where the code that
// schedules also keeps the timeout, an hwt.Timer alone does it for less.
//
// # What it promises
//
//   - A pair of key and value that was set ends once: its callback runs, or it
//     is removed, drained, or cancelled by Stop. Set on a known key gives the
//     pair another value and delay, and ends nothing.
//   - The operations on a key are linearizable. Against a racing expiry they
//     either come first, and then the callback does not run before the new
//     delay is over, or they find the key gone.
//   - The callback runs where the timer runs its tasks, never on the goroutine
//     of the caller, and no earlier than the delay. A panic in it is the
//     timer's to report, and harms no other pair.
//
// # What it costs
//
// A pending pair of an int64 key and a pointer holds about 140 bytes of heap on
// the hashed wheel, all included. Operations on different keys do not meet in a
// lock; Get and Has take none, and Move takes none as long as the key is not
// just expiring.
//
// The map is xsync's. Measured against Go maps in 64 shards, each with a mutex of
// its own, it holds as much for a pair, sets and removes at the same speed, and
// reads a key that everybody wants two to three times faster, because readers
// write nothing; it also shrinks again when the keys have gone. It pays with an
// allocation where a known key is set.
//
// # Differences from go-zero
//
// A delay of zero or less is no error, but comes due at the next opportunity.
// Drain empties the wheel for good, waits for its callbacks, and these may use
// the wheel. Stop may be called twice. Keys are typed, and every key is one,
// the zero value included.
package keyed
