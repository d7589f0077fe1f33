// Package durable provides timers that survive crashes and spread over machines.
//
// A [Store] keeps entries by key in an SQL database: SQLite inside the process (package
// [github.com/hashedwheel/hwt/durable/sqlite]) or PostgreSQL for many machines (package
// [github.com/hashedwheel/hwt/durable/postgres]). [Store.Set] returns when the entry is
// stored. [Store.Work], in any number of processes, calls a handler for each entry at its
// due time, and [Store.WorkMux] the handler of its kind. A [Tx] has the same operations inside the caller's own transaction, and
// [Tx.Done] acknowledges inside the handler's. Package
// [github.com/hashedwheel/hwt/durable/memory] has a store for tests, and package
// [github.com/hashedwheel/hwt/durable/observe] shows a store as metrics and on a live page.
//
// # Promises
//
// README.md says more about each promise, and which settings of the databases it needs.
//
//  1. An entry never fires before its due time on the database's clock.
//  2. An entry fires at least once. It fires once unless a worker dies or stalls between
//     the claim and the acknowledgement, or the database loses the acknowledgement or
//     rejects it until Work ends. A forward step of the database's clock by the time of a
//     lease counts as a stall of all workers. A repeated firing has the same [Firing.ID].
//  3. After [Store.Cancel] has returned nil, the entry never fires; after [Store.Move], it
//     fires only at the new time. The one exception is a worker that is paused between
//     the last check of its lease and the handler; the Generation of a [Firing] fences
//     that case. Cancel ends a series: an occurrence that a worker has claimed before still
//     fires.
//  4. Accepted entries are never lost while the database keeps its commits.
//  5. A call takes effect at most once, even if the library repeats a request. A call whose
//     context ends before its COMMIT is sent has no effect. If the context ends during the
//     COMMIT, the call may have taken effect, or take effect after it has returned.
//  6. Damage is an error. A damaged entry does not fire and delays no other.
//  7. After [Store.Close] and the end of Work, no goroutine, file, or connection of the
//     store is left. The end of a context ends every wait.
//  8. With a [Mux], an entry fires only in a worker that handles its kind. A kind with a backlog, or
//     with handlers that hang, delays no other kind, unless the Mux has the pattern "/" and the
//     kinds fill their common memory.
//  9. An entry that kills its workers becomes a dead letter after WorkOptions.MaxCrashes of them. The
//     first crash counts for all entries that the worker had claimed. They then fire up to a hundred
//     together, and after a second crash alone: at most two crashes of one entry count for another, unless
//     its handler runs for more than ten seconds.
//  10. If all workers of a key set WorkOptions.Serial, at most one handler of the key runs at a
//     time, except while another worker is paused or cut off beyond its lease. The occurrences of a
//     series follow Every.Overlap, with the same exception. The late acknowledgement of that worker
//     has no effect once another worker repeats the firing.
//  11. After [Store.Pause] has returned, no worker claims an entry of its scope until
//     [Store.Resume]. An entry claimed before that still fires. An entry that cannot fire by its
//     NotAfter stays pending during the pause.
//  12. After [Store.Limit] has returned, the handlers of all workers together keep the limit, except
//     while a worker is paused beyond its lease.
//
// # Lease, claim, wheel, fire
//
// A worker leases entries shortly before they are due and claims them 150 ms before. Claimed
// entries wait in a hashed wheel. It fires them at their due times and deletes them from the
// database. Claims and deletions are gathered for 40 ms into one transaction. Each transition
// is conditional on the stored row, so that the row decides who wins: Cancel and Move succeed
// until the claim, and return ErrFired after the claim. PostgreSQL claims overdue entries as it
// leases them: a backlog of up to WorkOptions.MaxHeld waits claimed.
//
// A worker leases only as many entries as it can hold. The rest of a burst stays in the
// database and is fired about in the order of due times: handlers run concurrently.
//
// # Cost
//
// Concurrent operations share transactions. README.md has measurements.
package durable

// The code in this package, from the bottom: each file uses those above it in this list, with few
// exceptions.
//
//	errors.go      the errors of a Store
//	every.go       Every
//	entry.go       Entry and its headers
//	scope.go       Scope
//	reason.go      the reasons of dead letters
//	run.go         Series, Run, and Ended
//	options.go     Options and WorkOptions
//	retry.go       the fate of an attempt that failed
//	env.go         the part of a Store that its Works share: the database, its clock, and the counters
//	memory.go      the shares of groups in the memory of a Work
//	kind.go        the kinds of a Work
//	lease.go       the lease keeper of a Work
//	flight.go      the rows in a Work, their stages, and the ground rules
//	queue.go       rows that wait, by group, those that wait for a handler, and the goroutines that call it
//	completer.go   the outcomes of handlers, and the times of batches
//	firing.go      Handler and Firing
//	quota.go       the part of a Work in a limit
//	limiter.go     the limits in a Work
//	sharer.go      the permits of a Work, shared with the other workers
//	dispatcher.go  the wheel and the handlers
//	suspects.go    adopted rows, and their trial
//	planner.go     the occurrences of recurring rows
//	claimer.go     claims shortly before the due times
//	feed.go        positions in the order of due times
//	fetcher.go     rows from the database
//	worker.go      a Work
//	works.go       the Works of a Store
//	entries.go     operations on single entries
//	many.go        operations on many entries
//	store.go       Store
//	mux.go         Mux
//	pause.go       pauses
//	limit.go       limits
//	stats.go       the numbers of a Store
//	read.go        reading pending entries
//	dead.go        dead letters
//	tx.go          operations in transactions
//	strays.go      due entries that no Work handles
//	work.go        Work
