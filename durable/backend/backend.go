package backend

import (
	"context"
	"time"
)

// Limits describe a backend. They don't change after Open.
type Limits struct {
	Lead       time.Duration // how far ahead of their due times rows are leased
	Poll       time.Duration // pause between two looks for new rows
	LeaseBatch int           // rows per call of Lease
	MaxBatch   int           // operations per call of Apply, Claim, and Finish
	MaxPayload int           // bytes
	Together   int           // rows of a store from which on Lease says Apart for a lane with Kinds, or 0 if it takes no such lane
}

// Stats are the sizes of a store.
type Stats struct {
	Pending int64
	Claimed int64
	Dead    int64
	Pauses  int64
	Bytes   int64   // disk in use
	Limit   int64   // limit of Bytes, or 0
	Oldest  int64   // due time of the pending row that is due first and not paused, or 0
	Due     []int64 // rows due before each of the requested times and not paused, counted up to CountLimit

	// More are figures of the one backend, such as the use of a notification queue.
	More map[string]float64
}

// CountLimit bounds the counts in Stats.Due, and half the number of rows that Stats looks at for Due
// and Oldest while there are pauses.
const CountLimit = 100_000

// Backend keeps rows. All methods are safe for concurrent use. After Close they return
// [ErrClosed].
//
// A batch is not a transaction: its elements succeed or fail one by one, and a backend may
// split it, or commit several batches together. One failing element never fails its neighbors.
// If two elements address the same key, they apply in order. An error with the results means
// that the call failed as a whole, see R5.
type Backend interface {
	Limits() Limits

	// Now returns the time of the database's clock.
	Now(ctx context.Context) (time.Time, error)

	// Apply performs ops and returns one result each.
	Apply(ctx context.Context, ops []Op) ([]Result, error)

	// Get returns the row in the key's main slot, in any state, or ErrNotFound.
	Get(ctx context.Context, key string) (Row, error)

	Pager

	// DeadPage is Page for dead letters, ordered by key and generation. After a damaged one,
	// the next page begins after the Ref of its Damage.
	DeadPage(ctx context.Context, prefix string, after Ref, max int) ([]Dead, error)

	// Heartbeat renews the worker's lease for ttl from now on the database's clock. Worker
	// 0 registers a new worker, which knows the stored limits: it reads them before it begins a handler. A ttl of 0 or less ends the lease: rows that the worker
	// leased become free, and others can adopt the rows that it claimed. If the lease
	// has ended, Heartbeat returns ErrLeaseLost.
	Heartbeat(ctx context.Context, worker int64, ttl time.Duration) (int64, error)

	// PrepareKinds makes Lease find the rows of a kind without a look at the rows of other
	// kinds. Lease needs it for lanes with a Kind. The first call on a database may take long.
	PrepareKinds(ctx context.Context) error

	// Lease returns pending rows of each lane, ordered as [Cursor]. Whether it marks them is up
	// to the backend: a row may be returned to several workers, and Claim decides. A row
	// returned with State Claimed and Holder Worker is claimed already; its Crashes are 0. If such a row is Tried, Claim may have
	// claimed it, and its handler may have run: a claim with Again decides. Damaged rows stay
	// pending and are left out, as by Adopt; the error beside the others is then ErrDamaged.
	// Payloads end the rows of a lane as they end a page.
	Lease(ctx context.Context, req LeaseRequest) ([]Leased, error)

	// Free gives the rows that the worker has leased and not claimed to other workers.
	Free(ctx context.Context, worker int64) error

	// Adopt claims for worker up to max claimed rows of workers that have lost their leases,
	// and frees the rows that those workers had leased. The rows stay claimed throughout: see
	// [Row.AdoptedBy] for their Crashes. Rows of kinds that are not in kinds stay as they are, unless
	// kinds is empty. An error may concern rows that are not among the returned ones.
	Adopt(ctx context.Context, worker int64, kinds []string, max int) ([]Row, error)

	// Claim claims rows for worker, and returns an answer for each. It returns
	// ErrLeaseLost if the worker's lease has ended. An error of single claims comes with
	// the results of all. Lease returns the rows of those again; a claim with Again that fails alone Waits.
	Claim(ctx context.Context, worker int64, claims []Claim) ([]Answer, error)

	// Finish stores outcomes of claims of a worker, which may have lost its lease since, and reports for each whether it
	// applied. The outcome of a damaged row does not. Neither does an outcome that the database rejects, by a constraint or a trigger
	// of the user: the backend tries it again later. An outcome for a row that another transaction has
	// locked may be stored later: Heartbeat gives it time before it ends the lease. An error
	// may come with the results of all: those that applied are stored.
	Finish(ctx context.Context, worker int64, outcomes []Outcome) ([]bool, error)

	// Watch calls near for rows due within Limits.Lead that were not stored by Apply of this
	// Backend: rows that its transactions commit, and rows of other processes. With no rows,
	// near asks for a look at the database. near must not block. The returned function ends the
	// watch.
	Watch(near func(rows []Row)) (stop func())

	// Announce notifies the workers of other processes, if it can, that rows are due
	// within Limits.Lead. It does not wait.
	Announce()

	// Trouble has the errors for which calls have waited.
	Trouble() *Trouble

	// Pause stores a pause, in place of one of the same scope. Once it has returned, no paused
	// row is leased, claimed, or adopted. Processes of releases before pauses ignore it.
	Pause(ctx context.Context, p Pause) error

	// Resume ends the pause of a scope, or returns ErrNotFound. Workers look for the rows.
	Resume(ctx context.Context, scope Scope) error

	// Paused returns the pauses, ordered by prefix and group.
	Paused(ctx context.Context) ([]Pause, error)

	// SetLimit stores a limit, in place of one of the same scope. Processes of releases before limits
	// ignore it.
	SetLimit(ctx context.Context, l Limit) error

	// RemoveLimit removes the limit of a scope, or returns ErrNotFound.
	RemoveLimit(ctx context.Context, scope Scope) error

	// Limited returns the limits, unless known is their version: that is cheap. The zero Version is
	// that of a store without limits. An error that wraps ErrDamaged comes with all limits: a damaged one lets
	// no handler begin.
	Limited(ctx context.Context, known Version) (Limited, error)

	// Share gives a worker permits and tokens for its demands, see L1 to L5. It notes that the worker
	// knows the limits up to newest. It returns one grant each, or ErrLeaseLost.
	Share(ctx context.Context, worker, newest int64, demands []Demand) ([]Grant, error)

	// Overdue returns, of each kind with each schedule, the first of the pending rows due before a time. The rows have
	// only the Key, Due, and Schedule. Paused rows are left out. Overdue looks at the first LookLimit rows, by due time.
	Overdue(ctx context.Context, before int64) ([]Row, error)

	// Stats returns sizes, and counts of the pending rows due before each of the times.
	Stats(ctx context.Context, due []int64) (Stats, error)

	// Close releases all resources. Its transactions must have ended.
	Close() error
}

// Pager reads pending rows in the order of their keys.
type Pager interface {
	// Page returns up to max pending rows, or with claimed rows in any state, with keys that
	// start with prefix, ordered by key and slot, beginning after the given row; the zero
	// Cursor is the beginning. A page ends at the latest with the row at which its payloads
	// reach [BatchBytes]. An empty page is the last. Page holds no snapshot between calls. A
	// damaged row ends the page: the rows before it come with an error that wraps a [*Damage],
	// and the next page begins after its Key and Slot, see [Pages].
	Page(ctx context.Context, prefix string, after Cursor, max int, claimed bool) ([]Row, error)
}

// Tx is a transaction of the caller on the database of a [Backend]. Its methods do the work of the
// methods of Backend, inside the transaction. Their effects are stored if it commits, and
// its commit announces the rows due within Limits.Lead. An error undoes only the effects of its
// call, unless the database has aborted the transaction.
type Tx interface {
	Apply(ctx context.Context, ops []Op) ([]Result, error)
	Finish(ctx context.Context, worker int64, outcomes []Outcome) ([]bool, error)
	Get(ctx context.Context, key string) (Row, error)
	Pager
}
