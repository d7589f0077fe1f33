// Package sqlite keeps the entries of package durable in an SQLite file, inside the
// process and without cgo.
//
//	store, err := sqlite.Open(ctx, "timers.db", nil)
//
// The file may also hold the program's own tables: [Store.DB] has them, and [Store.Tx] stores
// entries in its transactions. The names of this package's tables begin with "hwt_".
//
// One goroutine per Store writes. Concurrent calls share a transaction and its sync. In
// SQLite's WAL mode, reads run concurrently with the writer.
//
// # Several processes
//
// Several processes on one machine may open the same file; SQLite's locks exclude them
// from each other. A process polls for entries of other processes every 250 ms, so an
// entry that is due sooner fires up to 250 ms late. Locks of network file systems do not
// exclude other machines; on Linux, Open rejects the known ones and FUSE.
//
// # The file
//
// New files next to the database have its mode. If root creates them, they have its owner, too.
// Open rejects a file with several names (hard links), since SQLite keeps one log per name. If
// the file, its log, or the log's index is deleted, moved, or replaced while the store is open,
// the store closes within about 250 ms, with an error that names the file. Move or restore a
// store only while no process has it open, and its log with it: SQLite would apply the log to the
// file that has replaced the store's. A store that is open when its file is replaced renames its log
// when it notices, within about 250 ms. Open does so, too, if it finds the log of another file beside a copy by
// [Store.Backup]. The new name is the name of the log, a point, and the time; a name of more than 225 bytes is cut.
// The log may have commits that the copy lacks.
//
// No other SQLite library of the process may open the file: libraries in C and
// modernc.org/sqlite use POSIX locks. The kernel drops these when the process closes any
// descriptor of the file. Two writers at the same time destroy the file. On Linux, Open,
// Backup, and Verify return an error while another library has the file open. Other processes
// may use any library.
//
// # Triggers and constraints of yours
//
// A trigger, a constraint, or a unique index of yours on the store's tables may reject a row by an error. A call for the entry
// then returns the error. If it rejects the claim of an entry, the entry stays pending. If it rejects the acknowledgement of a
// firing, a retry, or a dead letter, the entry stays claimed. The worker tries again with each renewal of its lease, and a Work
// that ends tries once more. If the last try fails, too, the entry fires again. Other entries do not wait. A trigger must not
// skip a row in silence.
//
// # Durability
//
// By default each commit is synced, so an accepted entry survives a power loss. With
// [Options.SyncEvery], an accepted entry survives the death of the process immediately,
// and a power loss after the next sync. SQLite treats damage at the end of the write-ahead
// log like a power loss: it discards the damaged transaction and all later ones. Other
// damage is an error; [Store.Verify] searches the whole file for it.
//
// A damaged entry does not fire. Cancel deletes it, Discard deletes a damaged dead letter,
// and other calls for it return durable.ErrDamaged. If a page cannot be read, entries that
// are due later do not fire either, and workers log the error. A failed write of the file
// has no effect and returns durable.ErrFull, whatever the cause: the driver does not report
// it.
package sqlite

// The code in this package, from the bottom: each file uses those above it in this list, with few
// exceptions.
//
//	vfs.go        SQLite's file system
//	options.go    Options
//	conn.go       a connection and its statements
//	process.go    the files that the process has open
//	row.go        the columns of an entry
//	schema.go     the tables
//	locktimes.go  the times for which other processes held the lock
//	searches.go   the searches for rows of workers that are gone
//	file.go       the store's file, its log, and their names
//	watch.go      the workers of the store
//	queue.go      its jobs, and the end of the store
//	writer.go     the goroutine that writes
//	rejected.go   changes that SQLite rejects
//	reader.go     the connections that read
//	sqlconn.go    connections of DB, which take turns with the writer
//	db.go         the connections of DB
//	backend.go    the Store, and the backend of its parts
//	scopes.go     pauses and limits
//	read.go       reading entries and sizes
//	apply.go      operations on entries
//	firing.go     workers, claims, and outcomes
//	lease.go      leases of rows, and the index of kinds
//	tx.go         Tx and DB of the Store
//	operate.go    Backup, Restore, and Verify
