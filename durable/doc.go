// Package durable has timers that survive crashes and spread over machines.
//
// A [Store] keeps timers by key in NATS JetStream. [Store.Set] returns when the
// timer is stored, and [Store.Work], in any number of processes, calls a handler
// for each timer that is due. A timer survives a deploy, a crash, a lost
// machine, and a full disk, and fires once across all workers; see [Firing] for
// when it may fire again with the same ID.
//
// Package [github.com/hashedwheel/hwt/durable/embedded] runs the server inside
// the process, with no port open. [Open] takes any [jetstream.JetStream], so TLS
// and credentials are those of nats.go.
//
// # Promises
//
//  1. A timer never fires before its due time by the clock of the machine that
//     fires it. [Stats] has the offset of that clock from the server's.
//  2. A timer fires at least once, and once where no worker dies or is paused
//     while its handler runs. A repeated firing has the same [Firing.ID].
//  3. A timer whose [Store.Cancel] or [Store.Move] returned nil never fires, or
//     fires at the new time only.
//  4. Nothing that was accepted is lost.
//  5. After [Store.Close] and the end of [Store.Work], no goroutine, file or
//     connection of the store is left. The end of a context ends every wait.
//
// # Who wins, firing or cancel
//
// Each version of a timer has a generation, and each generation has one fate:
// claimed by a worker, cancelled, or moved. A fate is written by one
// compare-and-set, so the first wins. A worker claims a timer
// [ClaimAhead] before it is due. From then on Cancel and Move return [ErrFired].
//
// # Cost
//
// Set of a new key is one replicated write, of a pending one a read and a write.
// Cancel and Move are two requests: a read and a write, or two writes within half a
// minute of the time the timer is handed to a worker. A firing is the server's own
// write, the claim, and the acknowledgement. README.md has figures, and WIRE.md the
// format for clients in other languages.
package durable
