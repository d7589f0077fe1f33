package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/hashedwheel/hwt/durable/backend"
)

// batchBytes is the size of the payloads and headers that end a batch of SetMany.
const batchBytes = 16 << 20

// SetMany stores each entry of seq, as Set does, in large batches. It returns the number of
// stored entries. The first error ends it; entries before the failed one are stored. Entries
// with equal keys are set in order.
func (e Entries) SetMany(ctx context.Context, seq iter.Seq[Entry]) (int, error) {
	if err := e.unconditional(); err != nil {
		return 0, fmt.Errorf("durable: SetMany: %w", err)
	}
	stored := 0
	b := batch{ops: make([]backend.Op, 0, e.store.limits.MaxBatch), at: make(map[string]int)}
	flush := func() error {
		n, err := e.setBatch(ctx, &b)
		stored += n
		b.reset()
		return err
	}
	for entry := range seq {
		row, err := e.row(ctx, entry)
		if err != nil {
			err = errors.Join(wrap("SetMany", entry.Key, err), flush())
			return stored, err
		}
		b.add(row)
		if b.bytes >= batchBytes || len(b.ops) == cap(b.ops) {
			if err := flush(); err != nil {
				return stored, err
			}
		}
	}
	err := flush()
	return stored, err
}

// batch is a batch of SetMany. The last one of several entries with the same key stands for all of
// them: the others would be replaced in the same transaction.
type batch struct {
	ops    []backend.Op
	counts []int          // entries for which an operation stands
	at     map[string]int // position in ops by key
	bytes  int            // of payloads and headers
}

func (b *batch) reset() {
	b.ops, b.counts, b.bytes = b.ops[:0], b.counts[:0], 0
	clear(b.at)
}

func (b *batch) add(row backend.Row) {
	b.bytes += len(row.Payload) + len(row.Headers)
	op := backend.Op{Kind: backend.Set, Row: row}
	if i, again := b.at[row.Key]; again {
		b.bytes -= len(b.ops[i].Row.Payload) + len(b.ops[i].Row.Headers)
		b.ops[i] = op
		b.counts[i]++
		return
	}
	b.at[row.Key] = len(b.ops)
	b.ops, b.counts = append(b.ops, op), append(b.counts, 1)
}

func (e Entries) setBatch(ctx context.Context, b *batch) (stored int, err error) {
	if len(b.ops) == 0 {
		return 0, nil
	}
	results, err := e.applyAll(ctx, b.ops)
	if err != nil {
		return 0, fmt.Errorf("durable: SetMany: %w", err)
	}
	for i, r := range results {
		if r.Err == nil {
			stored += b.counts[i]
		} else if err == nil {
			err = wrap("SetMany", b.ops[i].Row.Key, r.Err)
		}
	}
	return stored, err
}

// CancelMany cancels all pending entries in a scope, in batches, and returns their number. It reads all
// entries with the Prefix. Entries that are claimed or set at the same time may be left out. If there are
// damaged entries, CancelMany cancels the others, and returns an error that wraps ErrDamaged and names the
// first damaged key. Any other error ends it.
//
// A damaged entry stays, unless it has the key of an entry that is cancelled: see Cancel. If
// the key itself is damaged, CancelMany may leave out intact entries, as All does.
func (e Entries) CancelMany(ctx context.Context, scope Scope) (int, error) {
	err := e.unconditional()
	stored, invalid := scope.stored()
	if err = cmp.Or(err, invalid); err != nil {
		return 0, wrapScope("CancelMany", scope, err)
	}
	var pager backend.Pager = e.store.backend
	if e.tx != nil {
		pager = e.tx
	}
	cancelled := 0
	var damaged error
	for rows, unreadErr := range backend.Pages(ctx, pager, stored.Prefix, false) {
		n, torn, err := e.cancelRows(ctx, stored, rows)
		cancelled += n
		damaged = cmp.Or(damaged, torn)
		if err != nil {
			return cancelled, err
		}
		if unreadErr != nil {
			ref, err := unread("CancelMany", stored.Prefix, unreadErr)
			if ref.Key == "" {
				return cancelled, err
			}
			damaged = cmp.Or(damaged, err)
		}
	}
	return cancelled, damaged
}

// cancelRows cancels the rows of a page that are in a scope. It returns the number of cancelled rows, and the
// first damage that it met.
func (e Entries) cancelRows(ctx context.Context, scope backend.Scope, rows []backend.Row) (cancelled int, damaged, err error) {
	var ops []backend.Op
	for i := range rows {
		if scope.Has(&rows[i]) {
			ops = append(ops, backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: rows[i].Key}, If: rows[i].Generation})
		}
	}
	for len(ops) > 0 {
		results, err := e.applyAll(ctx, ops)
		if err != nil {
			return cancelled, damaged, fmt.Errorf("durable: CancelMany: %w", err)
		}
		var again []backend.Op
		for i, r := range results {
			switch {
			case r.Err == nil:
				cancelled++
			case errors.Is(r.Err, ErrDamaged) && ops[i].If != 0: // another row of the key is damaged
				damaged = cmp.Or(damaged, wrap("CancelMany", ops[i].Row.Key, r.Err))
				ops[i].If = 0
				again = append(again, ops[i])
			case !errors.Is(r.Err, ErrNotFound) && !errors.Is(r.Err, ErrFired) && !errors.Is(r.Err, ErrConflict):
				return cancelled, damaged, wrap("CancelMany", ops[i].Row.Key, r.Err)
			}
		}
		ops = again
	}
	return cancelled, damaged, nil
}
