// Package keyed schedules values by key. [Wheel.Set] arms a timer for a key,
// [Wheel.Move] changes its delay, and [Wheel.Delete] cancels it. When the timer
// expires, the wheel calls a function with the key and its value:
//
//	checks, err := keyed.New(timer, func(id int, o Order) { check(id, o) }, nil)
//	checks.Set(order.ID, order, 30*time.Minute) // placed
//	checks.Move(order.ID, 30*time.Minute)       // changed
//	checks.Delete(order.ID)                     // paid
//
// [Wheel.LoadAndDelete] removes a pair and returns its value, [Wheel.SetIfAbsent] sets only
// an unknown key, and [Wheel.Update] changes a value and keeps its due time.
// [Wheel.Due] and [Wheel.All] return when pairs are due, and [Wheel.Drain] removes
// everything, so that a program can save what is pending and load it when it starts
// again.
//
// Use keyed when timeouts belong to things that have an ID, such as sessions,
// orders or devices. If you already hold the [hwt.Timeout], use an [hwt.Timer]
// directly; it is cheaper. So is a map of timeouts of your own if keys are mostly
// moved, as by the heartbeats of a million devices, and none of the guarantees below
// is needed: among that many keys, a Move waits for memory, and for one object more
// than a look-up in a Go map and a Reset. docs/programs.md has the figures.
//
// The package follows the TimingWheel of go-zero's core/collection and runs on
// any [hwt.Timer].
//
// # Guarantees
//
//   - A pair of key and value ends once: its callback runs, or it is removed,
//     drained, or cancelled by Close. A Set of a known key changes the pair's
//     value and delay, and ends nothing.
//   - The operations on a key are linearizable. Against a racing expiry, an
//     operation either comes first, and then the callback does not run before
//     the new delay is over, or it finds the key gone.
//   - The callback runs where the timer runs its tasks, never on the caller's
//     goroutine, and never before the delay is over. If it panics, the timer
//     reports that, and no other pair is affected.
//   - If the timer's executor refuses a callback, the pair stays pending and
//     expires again after a second.
//   - The timer may be wrapped, for metrics or tracing: the wheel depends on
//     neither the task that a timeout returns nor the identity of timeouts. A
//     wrapper of tasks must pass on [hwt.RefusedTask] for the retries.
//
// # Cost
//
// A pending pair of an int64 key and a pointer takes about 150 bytes of heap on
// the hashed wheel, everything included. Get, Has and Due take no lock, and neither
// does Move unless the pair is about to expire. Operations on different keys
// rarely share a lock.
//
// The map is that of xsync. Unlike Go maps in shards, each with a mutex, it reads a
// contended key without a lock, and shrinks when keys are removed. A Set of a known
// key costs it one more allocation.
//
// # Differences from go-zero
//
// Keys are typed, and every key is valid, including the zero value. A delay is
// never rounded down: go-zero runs a callback at once if the delay is below the
// wheel's interval. A delay of zero or less is not an error; the pair expires at
// the next opportunity. Drain waits for its callbacks, which get the due times and
// may use the wheel, and leaves it empty. Close may be called twice.
package keyed
