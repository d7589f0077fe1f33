package postgres

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/hashedwheel/hwt/durable/backend"
)

// locked are the rows and the dead letters that a batch has locked.
type locked struct {
	rows        map[string][]backend.Row // by key, in the order of slots
	dead        map[backend.Ref]*backend.Dead
	damaged     map[backend.Ref]error // rows that lockRefs found, which are not in rows, and dead letters
	torn        map[string]error      // keys with damaged rows that lockKeys found, which are in rows
	generations []uint64
	removals    int64 // counted before the generations were taken
	last        int64 // generation then
	now         int64
}

// lockKeys locks the main rows of the keys of ops and the dead letters that ops name, and
// reads the detached rows. lockKeys locks the rows of keys to cancel, because these keys
// store no rows. New generations are taken after the locks: a generation taken before could
// be smaller than the generation of a version that is stored before the lock.
func lockKeys(ctx context.Context, q querier, ops []backend.Op) (locked, error) {
	l := locked{rows: make(map[string][]backend.Row), dead: make(map[backend.Ref]*backend.Dead),
		damaged: make(map[backend.Ref]error), torn: make(map[string]error)}
	var keys, cancelled, others [][]byte
	var letters refs
	for i := range ops {
		key := []byte(ops[i].Row.Key)
		if keys = append(keys, key); ops[i].Kind == backend.Cancel {
			cancelled = append(cancelled, key)
		} else {
			others = append(others, key)
		}
		if ops[i].Kind == backend.Requeue || ops[i].Kind == backend.Discard {
			letters.add(letter(&ops[i]))
		}
	}
	stmts := []stmt{query(l.scanRow, lockKeysSQL, keys)}
	if len(cancelled) > 0 {
		stmts = append(stmts, query(l.scanRow, lockDetachedSQL, cancelled))
	}
	if len(others) > 0 {
		stmts = append(stmts, query(l.scanRow, detachedSQL, others))
	}
	if len(letters.key) > 0 {
		stmts = append(stmts, query(l.scanDead, lockDeadSQL, letters.key, letters.generation))
	}
	stmts = append(stmts, query(into(&l.removals, &l.last), removalsSQL), l.takeGenerations(len(ops)))
	err := q.run(ctx, stmts...)
	return l, err
}

// lockRefs locks the rows that r names, and leaves damaged ones aside. others is " SKIP LOCKED"
// or "", for rows that another transaction has locked.
func lockRefs(ctx context.Context, q querier, r refs, others string) (locked, error) {
	l := locked{rows: make(map[string][]backend.Row), damaged: make(map[backend.Ref]error)}
	intact := func(scan scanner) error {
		row, err := scanRow(scan)
		switch {
		case errors.Is(err, backend.ErrDamaged):
			l.damaged[row.Ref()] = err
			return nil
		case err == nil:
			l.rows[row.Key] = append(l.rows[row.Key], row)
		}
		return err
	}
	err := q.run(ctx, query(intact, lockNamedSQL+others, r.key, r.generation), l.takeGenerations(len(r.key)))
	return l, err
}

// scanRow reads a row. The generation of a damaged row is the slot, or counts as recent. A
// damaged row fires only while its worker lives.
func (l *locked) scanRow(scan scanner) error {
	var firing bool
	r, err := scanRow(scan, &firing)
	if damage := (*backend.Damage)(nil); errors.As(err, &damage) {
		l.torn[r.Key] = err
		if r.Generation = damage.Slot; !r.Detached {
			r.Generation = math.MaxInt64
		}
		if !firing {
			r.State = backend.Pending
		}
		err = nil
	}
	l.rows[r.Key] = append(l.rows[r.Key], r)
	return err
}

func (l *locked) scanDead(scan scanner) error {
	d, err := scanDead(scan)
	if errors.Is(err, backend.ErrDamaged) {
		l.damaged[d.Ref()] = err
		return nil
	}
	l.dead[d.Ref()] = &d
	return err
}

// takeGenerations returns a statement that takes n generations and the time.
func (l *locked) takeGenerations(n int) stmt {
	return query(func(scan scanner) error {
		var generation int64
		err := scan(&generation, &l.now)
		l.generations = append(l.generations, uint64(generation))
		return err
	}, generationsSQL, int32(n))
}

// find returns the row that a Ref names, or nil.
func (l *locked) find(ref backend.Ref) *backend.Row {
	rows := l.rows[ref.Key]
	i := slices.IndexFunc(rows, func(r backend.Row) bool { return r.Generation == ref.Generation })
	if i < 0 {
		return nil
	}
	return &rows[i]
}

// decide returns the effect of op on the locked rows. A damaged row fails the operation, except a
// Cancel of all rows, and a damaged dead letter all but its Discard.
func (l *locked) decide(op *backend.Op, next uint64) backend.Change {
	torn, damaged := l.torn[op.Row.Key], l.damaged[letter(op)]
	change := op.Decide(l.rows[op.Row.Key], l.dead[letter(op)], next)
	bare := backend.Row{Key: op.Row.Key}
	switch {
	case op.Kind == backend.Discard && damaged != nil:
		return backend.Change{DeleteDead: true, Result: backend.Result{Row: bare}}
	case op.Kind == backend.Discard || torn == nil && damaged == nil:
		return change
	case op.Kind == backend.Cancel && op.If == 0:
		change.Result.Row = bare
		return change
	}
	return backend.Change{Result: backend.Result{Err: cmp.Or(torn, damaged)}}
}

// letter names the dead letter of a Requeue or Discard.
func letter(op *backend.Op) backend.Ref { return backend.Ref{Key: op.Row.Key, Generation: op.If} }

// writes are the statements of a batch as arrays.
type writes struct {
	inserts, updates columns
	updated          []int64         // slots of the rows that updates replace
	letters          []*backend.Dead // to bury
	detached         refs            // inserted into the main slot, and then moved to a separate slot
	removed          refs            // keys and slots
	newest           int64           // generation of the rows that leave their key or the main slot, or 0
}

// add plans a change of a key with locked rows. A row that leaves its slot for another slot is
// updated, not deleted and inserted: a transaction that waits for the row's lock follows the
// update.
func (w *writes) add(rows []backend.Row, c backend.Change) {
	deletes := c.Delete
	for i := range c.Put {
		p := &c.Put[i]
		at := slices.IndexFunc(rows, func(r backend.Row) bool { return r.Slot() == p.Slot() })
		switch {
		case at >= 0:
			w.update(p, p.Slot())
		case len(deletes) > 0:
			w.update(p, deletes[0].Slot())
			deletes = deletes[1:]
		case p.Detached && !hasMain(rows):
			// No lock protects the absent main row. An insertion into the main slot and
			// concurrent insertions of the key wait for each other.
			main := *p
			main.Detached = false
			w.inserts.add(&main)
			w.detached.add(p.Ref())
			w.newest = max(w.newest, int64(p.Generation))
		default:
			w.inserts.add(p)
		}
	}
	for i := range deletes {
		w.removed.add(backend.Ref{Key: deletes[i].Key, Generation: deletes[i].Slot()})
		w.newest = max(w.newest, int64(deletes[i].Generation))
	}
	if c.Bury != nil {
		w.letters = append(w.letters, c.Bury)
	}
}

// hasMain reports whether rows, in the order of their slots, contain the one in the main slot.
func hasMain(rows []backend.Row) bool { return len(rows) > 0 && !rows[0].Detached }

func (w *writes) update(r *backend.Row, slot uint64) {
	w.updates.add(r)
	w.updated = append(w.updated, int64(slot))
}

// store runs the writes by q. store returns errMissed if another transaction has inserted a
// row in the place of a planned row; then nothing may be committed. store runs afterInserts
// before counting the removals.
func (w *writes) store(ctx context.Context, q querier, afterInserts ...stmt) error {
	var stmts []stmt
	inserted, buried := 0, make(map[backend.Ref]bool)
	for _, s := range []struct {
		rows int
		stmt stmt
	}{
		{len(w.removed.key), execute(removeSQL, w.removed.key, w.removed.generation)},
		{len(w.updated), execute(updateSQL, append(w.updates.args(), w.updated)...)},
		{len(w.inserts.key), query(func(scanner) error { inserted++; return nil }, insertSQL, w.inserts.args()...)},
		{len(w.detached.key), execute(detachSQL, w.detached.key, w.detached.generation)},
		{len(w.letters), bury(w.letters, buried)},
	} {
		if s.rows > 0 {
			stmts = append(stmts, s.stmt)
		}
	}
	if len(stmts) == 0 {
		return nil
	}
	if len(w.inserts.key) > 0 {
		stmts = append(stmts, afterInserts...)
	}
	if w.newest > 0 {
		stmts = append(stmts, execute(countRemovalSQL, w.newest))
	}
	err := q.write(ctx, stmts...)
	if err == nil && inserted < len(w.inserts.key) {
		return errMissed
	}
	if err == nil && len(buried) < len(w.letters) {
		return w.buryRest(ctx, q, buried)
	}
	return err
}

// bury returns the statement that stores dead letters, and notes the stored letters. bury leaves
// out a letter if the key has a letter of the same generation.
func bury(letters []*backend.Dead, buried map[backend.Ref]bool) stmt {
	var rows columns
	var texts [][]byte
	var givenUp []int64
	for _, d := range letters {
		rows.add(&d.Row)
		texts = append(texts, []byte(d.Error))
		givenUp = append(givenUp, d.GivenUp)
	}
	return query(func(scan scanner) error {
		var key octets
		var generation int64
		err := scan(&key, &generation)
		buried[backend.Ref{Key: string(key), Generation: uint64(generation)}] = true
		return err
	}, burySQL, append(rows.args(), texts, givenUp)...)
}

// buryRest gives new generations to the dead letters that are not buried, and buries the
// letters. Other letters have the same generations if the sequence was once behind the
// rows: see checkSequences.
func (w *writes) buryRest(ctx context.Context, q querier, buried map[backend.Ref]bool) error {
	var rest []*backend.Dead
	for _, d := range w.letters {
		if !buried[d.Ref()] {
			again := *d
			rest = append(rest, &again)
		}
	}
	n := 0
	err := q.run(ctx, query(func(scan scanner) error {
		var generation, now int64
		err := scan(&generation, &now)
		rest[n].Generation = uint64(generation)
		n++
		return err
	}, generationsSQL, int32(len(rest))))
	if err != nil {
		return err
	}
	return q.write(ctx, bury(rest, buried))
}
