package backend

import (
	"cmp"
	"fmt"
	"math"
)

// Change is the effect of an operation on the rows of one key. Put and Delete name
// slots: a Put replaces the row in its slot. Deletes come first.
type Change struct {
	Put        []Row
	Delete     []Row
	Bury       *Dead // dead letter to store
	DeleteDead bool  // deletes the dead letter that was read
	Result     Result
}

// Decide returns the effect of op on a key. rows are all rows of the key in the order of
// their slots, locked against changes. dead is the dead letter (Key, If) for Requeue and
// Discard, or nil. next is the generation for a new version.
//
// Both backends and the model decide by this function, so that they agree.
func (op *Op) Decide(rows []Row, dead *Dead, next uint64) Change {
	main := mainRow(rows)
	switch op.Kind {
	case Set, Create:
		return op.set(main, next)
	case Move:
		return op.move(main, next)
	case Cancel:
		return op.cancel(main, rows)
	case Requeue:
		return op.requeue(main, dead, next)
	case Discard:
		if dead == nil {
			return failed(ErrNotFound)
		}
		return Change{DeleteDead: true, Result: Result{Row: dead.Row}}
	}
	return failed(fmt.Errorf("%w: Op.Kind: %d (expected: 0 to %d)", ErrInvalid, op.Kind, Discard))
}

func failed(err error) Change { return Change{Result: Result{Err: err}} }

// mainRow returns the row in the main slot, or nil.
func mainRow(rows []Row) *Row {
	if len(rows) > 0 && !rows[0].Detached {
		return &rows[0]
	}
	return nil
}

func (op *Op) set(main *Row, next uint64) Change {
	if op.Kind == Create && main != nil && main.State == Pending {
		return failed(ErrExists)
	}
	if op.If != 0 {
		if err := op.expect(main); err != nil {
			return failed(err)
		}
	}
	return occupy(main, op.Row.version(next))
}

// expect returns the error for a main row that is not the pending row op asks for.
func (op *Op) expect(main *Row) error {
	switch {
	case main == nil:
		return ErrNotFound
	case main.State == Claimed:
		return ErrFired
	case op.If != 0 && main.Generation != op.If:
		return ErrConflict
	}
	return nil
}

// version returns r as a new pending version.
func (r Row) version(next uint64) Row {
	r.Generation, r.State, r.Holder, r.Crashes, r.Tried = next, Pending, 0, 0, false
	if r.Origin == 0 {
		r.Origin = next
	}
	r.Attempt = max(r.Attempt, 1)
	return r
}

// occupy puts row into the main slot and detaches a claimed row from it, or an occurrence that has Begun. A row with the
// origin of that occurrence is another version of it, and replaces it.
func occupy(main *Row, row Row) Change {
	c := Change{Put: []Row{row}, Result: Result{Row: row}}
	if main != nil && (main.State == Claimed || main.Begun() && main.Origin != row.Origin) {
		aside := *main
		aside.Detached = true
		c.Put = []Row{aside, row}
	}
	return c
}

func (op *Op) move(main *Row, next uint64) Change {
	if err := op.expect(main); err != nil {
		return failed(err)
	}
	row := *main
	if row.NotAfter != 0 && op.Row.Due > row.NotAfter {
		return failed(fmt.Errorf("%w: the new due time is after the entry's NotAfter", ErrInvalid))
	}
	row.Due, row.Attempt = op.Row.Due, 1
	row.Origin, row.Nonce = 0, op.Row.Nonce // a new firing
	return occupy(nil, row.version(next))
}

func (op *Op) cancel(main *Row, rows []Row) Change {
	var c Change
	claimed := false
	for _, r := range rows {
		if r.State == Claimed {
			claimed = true
		} else if op.If == 0 || op.If == r.Generation {
			c.Delete = append(c.Delete, r)
		}
	}
	switch {
	case op.If == 0 && main != nil && main.State == Claimed:
		return failed(ErrFired) // its retries of older versions stay
	case len(c.Delete) > 0:
		c.Result.Row = c.Delete[0]
	case main != nil && main.State == Pending:
		c.Result.Err = ErrConflict
	case claimed:
		c.Result.Err = ErrFired
	default:
		c.Result.Err = ErrNotFound
	}
	return c
}

// requeue revives an occurrence of a recurring entry outside the main slot, where the series
// continues, and a one-shot inside it.
func (op *Op) requeue(main *Row, dead *Dead, next uint64) Change {
	if dead == nil {
		return failed(ErrNotFound)
	}
	row := dead.Row
	row.Due, row.NotAfter, row.Attempt = op.Row.Due, 0, 1
	row.Detached = row.Every != ""
	row = row.version(next)
	if row.Detached {
		return Change{Put: []Row{row}, DeleteDead: true, Result: Result{Row: row}}
	}
	if main != nil && main.State == Pending {
		return failed(ErrExists)
	}
	c := occupy(main, row)
	c.DeleteDead = true
	return c
}

// Decide returns the effect of a claim on its row, and the answer. The row may be nil. The row
// is the one that the Ref names. busy is whether another row of the key is claimed.
func (c *Claim) Decide(row *Row, busy bool, worker int64, next uint64) (Change, Answer) {
	switch {
	case c.Again && row != nil && row.State == Claimed && row.Holder == worker:
		tried := *row
		tried.Tried = row.Crashes > 0
		return Change{Put: []Row{tried}}, Won
	case row == nil || row.State != Pending || c.Again:
		return Change{}, Overtaken
	case row.Begun() && (c.Next != nil || c.Skip || c.Due != 0 || busy && c.Busy == Skip): // planned before an earlier claim
		return Change{}, Overtaken
	case busy && c.Busy == Wait:
		return Change{}, Waits
	case busy && c.Busy == Skip:
		return c.skip(row, next), Skipped
	case c.Skip:
		return c.skip(row, next), Won
	}
	var change Change
	if c.Next != nil {
		change.Put = append(change.Put, c.next(row, next))
	}
	claimed := *row
	claimed.State, claimed.Holder = Claimed, worker
	claimed.Due = cmp.Or(c.Due, row.Due)
	claimed.Detached = row.Detached || c.Next != nil
	change.Put = append(change.Put, claimed)
	return change, Won
}

// skip returns the effect of a claim that leaves its row out.
func (c *Claim) skip(row *Row, next uint64) Change {
	if c.Next == nil {
		return Change{Delete: []Row{*row}}
	}
	return Change{Put: []Row{c.next(row, next)}}
}

// next returns Next as stored. Its Last is that of the row, which may be newer than the worker's copy.
func (c *Claim) next(row *Row, next uint64) Row {
	r := c.Next.version(next)
	r.Last = row.Last
	return r
}

// Decide returns the effect of an outcome on its row, and whether the outcome applies. The row
// may be nil. The row is the one that the Ref names. now is the time of the database.
func (o *Outcome) Decide(row *Row, worker, now int64, next uint64) (Change, bool) {
	switch {
	case row == nil:
		return Change{}, false
	case o.Fate == Done && (row.State == Pending || row.Holder == worker || row.Crashes > 0 && !row.Tried):
		return Change{Delete: []Row{*row}}, true
	case o.Fate == Done || row.State == Pending || row.Holder != worker:
		return Change{}, false
	}
	again := *row
	again.State, again.Holder, again.Tried = Pending, 0, false
	switch {
	case o.Fate == Bury:
		return Change{Delete: []Row{*row}, Bury: &Dead{again, o.Error, now}}, true
	case o.Fate == Release && row.Crashes > 0:
		again.State, again.Holder = Claimed, worker
		return Change{Put: []Row{again}}, true
	}
	if row.Every != "" && !row.Detached { // it is the last one of its series
		again.NotAfter = math.MaxInt64
	}
	if o.Fate == Release {
		return Change{Put: []Row{again}}, true
	}
	if again.Due = o.Due; o.Fate == Retry {
		again.Attempt++
	}
	c := Change{Put: []Row{again.version(next)}}
	if row.Detached { // its slot is its generation
		c.Delete = []Row{*row}
	}
	return c, true
}
