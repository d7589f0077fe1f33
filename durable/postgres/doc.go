// Package postgres keeps durable entries in PostgreSQL 14 or later, for workers on
// many machines.
//
// [Open] takes a [pgxpool.Pool] and creates its tables in a schema of the database.
// [Store.Tx] and [Store.SQLTx] run operations inside the caller's own transaction.
//
// # Privileges
//
// The first Open needs CREATE on the database, or an existing schema with CREATE. A later Open
// needs USAGE on the schema and its sequences; SELECT on the table meta; and SELECT, INSERT,
// UPDATE, and DELETE on the tables entry, dead, worker, pause, limits, and permit. Open plans each
// statement of this package and names a missing privilege. Open rejects row-level security that may
// hide rows from the role; if row-level security is enabled later, calls that miss a row return an error.
//
// Rows that were copied without the values of the sequences, as by logical replication, would get
// generations again. Open moves such sequences if the role has UPDATE on them, and returns an error
// otherwise.
//
// The statements of this package name pg_catalog before every function, operator, and type.
// Code of other users on the search_path does not run as the store's role, neither in the
// store's transactions nor in transactions of callers.
//
// # Isolation
//
// The caller's transaction may have any isolation level. Under REPEATABLE READ and
// SERIALIZABLE, an operation in a transaction returns PostgreSQL's error 40001 if the entry has
// changed since the snapshot, or if it sets a key that was set since the snapshot: repeat the
// transaction. For the other operations, an entry that was set after the snapshot does not
// exist.
//
// Transactions that use the same keys in different orders may deadlock, as with any rows: PostgreSQL
// then ends one of them with error 40P01. Operations on a single key do not deadlock, with one
// exception: after Done, a transaction sets the same key, which others have set since Done.
//
// A transaction keeps the rows of its keys locked until the end, even after ErrFired. Such a
// transaction delays the operations on these keys, and the acknowledgement of an entry that
// fires during the transaction. A Work that ends waits for the acknowledgement, up to half of
// [durable.Options].Lease: if a row is locked for longer, its entry fires again. Workers find
// an entry within five seconds if its transaction takes more than a minute and commits it when
// it is due.
//
// # Rejected claims and outcomes
//
// A constraint or a trigger of yours may reject the claim of an entry, so that the entry stays
// pending, or the acknowledgement of its firing, its retry, or its dead letter. In the latter
// cases, the entry stays claimed. The worker tries again, after up to ten seconds each, and a
// Work that ends tries outcomes once more. If the last try fails, too, the entry fires again.
// Other entries do not wait.
//
// # PgBouncer
//
// In transaction mode, LISTEN does not work and prepared statements may not. Set
// [Options.PollOnly], and default_query_exec_mode=exec in the connection string.
//
// # Waits
//
// Until its context ends, a call waits for a server that is down, read-only, or out of connections.
// The error of a call then has the last error of the database in its text, and the Logger gets each
// cause once per minute. After a failover, connections to a server that has become read-only are
// replaced.
//
// If the context of a call ends before the COMMIT of its transaction is sent, the call has no
// effect. A COMMIT that is under way may still take effect, up to [Options].Timeout later.
//
// If the answer to a COMMIT is lost, the store asks the server for the outcome. A server that does
// not tell its timeline cannot answer: examples are Amazon Aurora with default settings, and a
// server that forbids the function pg_current_wal_lsn. The call then returns an error, and may have
// taken effect.
//
// # Clock
//
// Leases follow the server's clock. If it steps forward by more than
// [durable.Options].Lease, other workers take over the entries that workers have claimed
// at that moment: they may fire twice. If it steps back, the entries of a worker that has
// died wait for as long as the step.
//
// # Damage
//
// A damaged entry does not fire. Cancel deletes it, Discard deletes a damaged dead letter,
// and other calls for the entry return durable.ErrDamaged. The command hwtdurable verify
// names the entry.
//
// # Replication
//
// An entry survives a failover if its commit waited for the standby: list the
// standby in synchronous_standby_names. Entries that an asynchronous standby has not
// received are lost with the primary.
//
// The store's transactions wait for the disk even if the role's synchronous_commit is off,
// except for acknowledgements. Workers repeat the acknowledgements that a crash of the server
// has lost. The caller's transactions keep their setting.
package postgres

// The code in this package, from the bottom: each file uses files above it in this list, with few
// exceptions.
//
//	options.go    Options
//	errors.go     the errors of the database
//	batch.go      the sizes of batches, and their division
//	row.go        the columns of an entry
//	qualify.go    the names of functions, operators, and types
//	sql.go        statements
//	querier.go    statements with arguments
//	trouble.go    the reason why calls wait
//	budget.go     the payloads of a round trip
//	acks.go       the last acknowledgements
//	txn.go        a transaction
//	session.go    the connections
//	schema.go     the tables
//	prepare.go    Open's work on the database
//	announcer.go  notifications
//	sizes.go      Stats and MaxBytes
//	locked.go     the rows that a transaction has locked, and its writes
//	apply.go      operations on entries
//	lanes.go      batches of operations
//	finishing.go  a batch of outcomes
//	returner.go   work on rows that others have locked
//	outcomes.go   the ends of claims
//	leases.go     the leases of workers and of rows
//	kinds.go      leases of kinds and groups
//	claims.go     claims
//	reader.go     reading entries
//	pauses.go     pauses
//	limits.go     limits
//	backend.go    the backend of these parts
//	open.go       the Store
//	view.go       Tx of the Store
