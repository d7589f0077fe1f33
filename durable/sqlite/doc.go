// Package sqlite keeps the entries of package durable in an SQLite file, inside the
// process and without cgo.
//
//	store, err := sqlite.Open(ctx, "timers.db", nil)
//
// The file may also hold the program's own tables: [Store.BeginTx] returns a transaction
// for both. The tables of this package are those whose names begin with "hwt_".
//
// One goroutine per Store writes. Concurrent calls share a transaction, so that a sync of
// the disk is not paid per call. Reads run beside it, in SQLite's WAL mode.
//
// # Several processes
//
// Several processes on one machine may open the same file; SQLite's locks keep them
// apart. A process polls every 250 ms for entries of other processes. Entries that are
// due earlier fire up to 250 ms late. Network file
// systems break SQLite's locks, and Open refuses the known ones.
//
// # Durability
//
// By default each commit is synced: an accepted entry survives a power loss. With
// [Options.SyncEvery] an accepted entry survives the death of the process, and, after
// that interval, a power loss. A damaged end of the write-ahead log looks like a power
// loss: SQLite drops the transactions from the damage on. Other damage is an error, and
// [Store.Verify] looks for it everywhere.
package sqlite
