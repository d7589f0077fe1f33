package backend

// Kind is the kind of an [Op].
type Kind uint8

// The kinds of an [Op].
const (
	Set     Kind = iota // stores a row, replaces a pending one, detaches a claimed one and one that has Begun
	Create              // Set, but ErrExists over a pending row
	Move                // changes Due of the pending row
	Cancel              // deletes the pending row and the waiting retries of the key; see Result
	Requeue             // turns the dead letter (Key, If) into a pending row
	Discard             // deletes the dead letter (Key, If)
)

// Stores reports whether an operation of the kind stores a pending row.
func (k Kind) Stores() bool { return k != Cancel && k != Discard }

// Op is one operation of a batch.
type Op struct {
	Kind Kind

	// Row is the row to store. Move uses Key, Due, and Nonce; Requeue uses Key and Due;
	// Cancel and Discard use Key. The backend assigns Generation, and Origin if it is 0.
	Row Row

	// If is the generation that the pending row must have: another generation is ErrConflict. 0
	// accepts any. For Requeue and Discard it names the dead letter.
	If uint64

	// Announce reports that the row is due within Limits.Lead, and that no worker of
	// this process was notified. After the commit, and without delaying it, the backend
	// notifies the workers of other processes, if it can.
	Announce bool
}

// Result is the result of one [Op]: the row that it stored or removed, or an error.
//
// If the row in the main slot is damaged, or the dead letter that the op names, the error wraps
// [ErrDamaged]. If another row of the key is damaged, that of Move and of Cancel with If does,
// and that of the other kinds may. There are two exceptions. Cancel without If deletes all
// pending rows of the key, and damaged rows that were claimed by workers that have lost their
// leases. Discard deletes a damaged letter. The Row of their results has a Key only.
type Result struct {
	Row Row
	Err error
}

// Claim asks for a pending row.
type Claim struct {
	Ref
	// Again asks for a row that the worker has claimed by Adopt, in place of a pending one, paused or
	// not. The row is Tried from then on. The fields below are not set.
	Again bool

	// Next is the next occurrence of a recurring row. The claimed row is detached, and
	// Next takes the main slot under a new generation. nil for one-shots, for rows that have Begun,
	// and for the last occurrence. A claim that would replace, move, or skip a row that has Begun is Overtaken:
	// the worker has planned it for a copy of the row from before an earlier claim.
	Next *Row

	// Due, if it is not 0, becomes the due time of the claimed row: the occurrence that it
	// stood for was missed, and a later one fires in its place.
	Due int64

	// Skip replaces the row by Next without claiming it: the occurrence was missed. With
	// a nil Next, it deletes the row.
	Skip bool

	// Busy decides about the claim while another row of the key is claimed. A waiting retry is not
	// claimed.
	Busy Busy
}

// Busy is the effect of a claimed row on the [Claim] of another row of its key.
type Busy uint8

// The values of Busy. If all claims of a key have another value than Ignore, at most one of its rows
// is claimed at a time.
const (
	Ignore Busy = iota // makes the claim
	Wait               // leaves the row pending
	Skip               // does as Claim.Skip
)

// Answer is the answer to a [Claim].
type Answer uint8

// The values of Answer.
const (
	Overtaken Answer = iota // the row was cancelled, moved, replaced, claimed, or paused meanwhile
	Won                     // the row is claimed, or skipped as Claim.Skip asked
	Waits                   // another row of the key is claimed, or about to be; the row stays leased, or claimed with Again
	Skipped                 // another row of the key is claimed, and Busy is Skip
)

// Fate is the way in which a claim ends.
type Fate uint8

// The fates of a claimed row.
const (
	Done     Fate = iota // deletes the row
	Retry                // makes it pending again with Due, a new generation, Attempt+1, and no Crashes
	Bury                 // moves it to the dead letters with Error
	Postpone             // does as Retry, also for Crashes, but leaves Attempt as it is
	// Release makes it pending again unchanged, but see Row.Begun: its attempt does not count. A row with Crashes stays
	// claimed, and is not Tried: its handler may have run in a worker that has died.
	Release
)

// Outcome ends a claim. It applies while the row (Key, Generation) is claimed by the worker. Done also applies to
// a pending row: the database may have lost the claim. It applies to a row that another worker has adopted until
// that worker tries the row. From then on, the handler of that worker may run.
type Outcome struct {
	Ref
	Fate  Fate
	Due   int64  // of Retry and Postpone
	Error string // of Bury

	// Last, if it is not "", becomes the Last of the row in the main slot of the key, after the
	// outcomes of the call are stored, if that row is pending and its recurrence is Every. The outcome must apply, or InTx
	// be set. A backend may leave Last out while another transaction has locked the row.
	Last, Every string

	// InTx reports that a Finish of a [Tx] has stored the outcome, unless the transaction was rolled back.
	InTx bool
}

// Notes reports whether the outcome stores its Last in main, the row in the main slot or nil.
func (o *Outcome) Notes(main *Row, applied bool) bool {
	return o.Last != "" && (applied || o.InTx) && main != nil && !main.Detached && main.State == Pending && main.Every == o.Every
}
