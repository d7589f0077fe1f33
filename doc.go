// Package hwt is the contract of a family of timers for programs that hold
// very many timeouts, most of which are cancelled or pushed back before they
// fire: request deadlines, idle connections, cache entries, order checks half
// an hour from now.
//
// This package holds the contract only. An engine implements it:
//
//   - hashedwheel, after Netty's HashedWheelTimer: one wheel, the cheapest
//     schedule and cancel; the one to start with;
//   - hierarchical, after Kafka's timing wheel: wheels of wheels, for delays
//     from milliseconds to months at a fine tick;
//   - runtimetimer, on Go's own timers: for few or very precise timeouts.
//
// # What every engine promises
//
//  1. Never early. A task never runs before its deadline, which is the
//     monotonic time of the call plus the delay.
//  2. On time. It runs no later than one tick after the deadline, plus what
//     the operating system and the tasks ahead of it take.
//  3. Exactly one end. Every accepted timeout is expired (its task ran once),
//     cancelled (Cancel said true once) or unprocessed (Stop returned it),
//     whatever races with whatever.
//  4. Cancel and Reset are linearizable against expiry. Cancel is false after
//     expiry, cancel or stop; Reset never revives.
//  5. Stop stops accepting, waits for the worker goroutine to end, and returns
//     what was pending. It may be called from anywhere, also from inside a
//     task, and never deadlocks: for a task that occupies the worker it waits
//     a limited time only.
//  6. Isolation. A task that panics, returns an error or ends its goroutine is
//     reported and harms no other timeout.
//  7. Nothing lingers. A cancelled timeout is unreferenced by the timer within
//     two ticks; no goroutine is left after Stop; an idle timer wakes nobody.
//  8. Fake time. Everything parks durably, so that a testing/synctest bubble
//     runs hours in milliseconds.
//  9. Timeouts that fall due in the same tick run in no promised order, in
//     practice near the order of submission.
//  10. A delay of zero or less runs at the next opportunity. A deadline past
//     the range of the clock never comes.
package hwt
