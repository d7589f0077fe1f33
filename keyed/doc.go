// Package keyed schedules values by key. [Wheel.Set] arms a timer for a key,
// [Wheel.Move] changes its delay, and [Wheel.Delete] cancels it. When the timer
// expires, the wheel calls a function with the key and the value:
//
//	checks, err := keyed.New(timer, func(id int, o Order) { check(id, o) }, nil)
//	checks.Set(order.ID, order, 30*time.Minute) // placed
//	checks.Move(order.ID, 30*time.Minute)       // changed
//	checks.Delete(order.ID)                     // paid
//
// [Wheel.GetAndDelete] also returns the value. [Wheel.SetIfAbsent] sets a key only if
// it is unknown, and [Wheel.SetIfSooner] only if it is unknown or due later.
// [Wheel.Update] changes a value and keeps its due time. [Wheel.Due] and [Wheel.All]
// return due times. [Wheel.Drain] removes all pairs, so that a program can save the pairs
// and set them again after a restart.
//
// [Debouncer] calls a function once for a burst of events of a key.
//
// Use keyed when timeouts belong to things that have an ID, such as sessions, orders or
// devices. If you already hold the [hwt.Timeout], use the [hwt.Timer] directly, which is
// cheaper. docs/programs.md compares keyed with plain maps of timeouts.
//
// The package follows the TimingWheel of go-zero's core/collection and runs on
// any [hwt.Timer].
//
// # Guarantees
//
//   - A pair of key and value ends once: its callback runs, or it is deleted,
//     drained, or cancelled by Close. A Set of a known key changes the pair's
//     value and delay, and does not end it.
//   - The operations on a key are linearizable. An operation that races with
//     expiry either wins, and the callback does not run before the end of the new
//     delay, or finds no pair.
//   - The callback runs where the timer runs its tasks, never on the caller's
//     goroutine, and never before the delay is over. If it panics, the timer
//     reports that, and no other pair is affected.
//   - If the timer's executor rejects a callback, the pair stays pending and
//     expires again after a second.
//   - The timer may be wrapped, for metrics or tracing: the wheel does not depend on the task
//     that a timeout returns. If the wrapper is an [hwt.EventTimer], its tasks must receive the
//     event. A wrapper of tasks must forward [hwt.RejectedTask], or rejected pairs are not
//     retried. The wheel calls Reset, Deadline, IsExpired, and sometimes NewTimeout while it
//     holds a lock that its tasks also take. A wrapper's implementations of these methods must
//     neither use the wheel nor wait for a task.
//
// # Cost
//
// A pending pair of an int64 key and a pointer takes about 92 bytes of heap on a hashed
// wheel, including the event (see [hwt.Event]), and is one allocation. A zero-size value
// takes no memory. On a timer that is not an [hwt.EventTimer], a pair has in addition the
// timer's timeout and some 100 bytes. Keys are spread over several locks per processor.
// Each operation, including Get, holds the lock of a key, usually for less than a
// microsecond. The table grows and shrinks in steps of some hundred pairs, however large
// the table is. Operations on different keys rarely share a lock.
//
// # Differences from go-zero
//
// Keys are typed, and every key is valid, including the zero value. A delay is never rounded
// down: go-zero's MoveTimer runs a callback immediately if the delay is below the wheel's
// interval. A delay of zero or less is not an error; the pair expires at the next opportunity.
// Drain waits for all callbacks, and leaves the wheel empty. The function given to
// Drain gets the due time, and may use the wheel. Close may be called twice.
package keyed
