package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Finish implements [backend.Backend]. Done commits asynchronously: if the server loses
// it, the firing repeats with the same ID. The returner stores two kinds of outcomes later:
// those whose rows a caller's transaction has locked, and those that the database rejects.
// The outcome of a damaged row is logged and dropped. No such outcome fails another. An error
// comes with the results of the outcomes that are stored.
func (b *postgresBackend) Finish(ctx context.Context, worker int64, outcomes []backend.Outcome) (applied []bool, err error) {
	applied = make([]bool, len(outcomes))
	for first := 0; first < len(outcomes) && err == nil; {
		some := outcomes[first:]
		some = some[:distinct(some)]
		var f *finishing
		if f, err = b.finish(ctx, worker, some); err == nil {
			for i, o := range some {
				if f.locked[i] {
					b.returner.finish(worker, o)
					f.applied[i] = true
				}
			}
			err = b.returner.reject(worker, f.rejected)
		}
		first += copy(applied[first:], f.applied)
	}
	return applied, err
}

// distinct returns the number of outcomes before the second one for the same row.
func distinct(outcomes []backend.Outcome) int {
	known := make(map[backend.Ref]struct{})
	for i := range outcomes {
		if _, again := known[outcomes[i].Ref]; again {
			return i
		}
		known[outcomes[i].Ref] = struct{}{}
	}
	return len(outcomes)
}

// finishing is the progress of finish. applied, met, and locked are by position.
type finishing struct {
	outcomes []backend.Outcome
	applied  []bool
	met      []bool      // rows that are not locked
	locked   []bool      // rows that are, or that moved aside meanwhile
	rejected []rejection // outcomes that fail alone
}

// rejection is an outcome that the database rejects, and its error.
type rejection struct {
	backend.Outcome
	err error
}

// maxRewritten bounds the rows that a transaction reads and writes with their payloads, so that the
// server does it within Options.Timeout.
const maxRewritten = 64

// finish stores outcomes of different rows: Done in one transaction, the other fates in
// others.
func (b *postgresBackend) finish(ctx context.Context, worker int64, outcomes []backend.Outcome) (*finishing, error) {
	n := len(outcomes)
	f := &finishing{outcomes: outcomes, applied: make([]bool, n), met: make([]bool, n), locked: make([]bool, n)}
	var done, others []int
	for i := range outcomes {
		if outcomes[i].Fate == backend.Done {
			done = append(done, i)
		} else {
			others = append(others, i)
		}
	}
	err := inHalves(ctx, done, func(at []int) error { return b.finishDone(ctx, worker, f, at) }, f.reject)
	for some := range slices.Chunk(others, maxRewritten) {
		err = errors.Join(err, inHalves(ctx, some, func(at []int) error { return b.finishOthers(ctx, worker, f, at) }, f.reject))
	}
	var at []int
	for i := range outcomes {
		if !f.met[i] {
			at = append(at, i)
		}
	}
	if err != nil || len(at) == 0 {
		return f, err
	}
	r, exist := refsAt(outcomes, at), make([]bool, len(at))
	err = b.insist(ctx, func(ctx context.Context) error {
		clear(exist)
		return b.simple(ctx, query(scanPositions(exist), existingSQL, r.key, r.generation))
	})
	for n, i := range at {
		f.locked[i] = exist[n]
	}
	return f, err
}

// reject sets an outcome apart.
func (f *finishing) reject(i int, err error) {
	f.rejected = append(f.rejected, rejection{f.outcomes[i], about(f.outcomes[i].Ref, err)})
	f.met[i] = true
}

// about names the row of an error.
func about(ref backend.Ref, err error) error {
	return fmt.Errorf("key %.64q, generation %d: %w", ref.Key, ref.Generation, err)
}

// inHalves calls store with positions. While that fails for the sake of single ones, inHalves calls
// it with those of each half alone, until it has found them, and calls reject for these.
func inHalves(ctx context.Context, at []int, store func(at []int) error, reject func(i int, err error)) error {
	if len(at) == 0 {
		return nil
	}
	err := store(at)
	switch {
	case err == nil || ctx.Err() != nil || !concernsRow(err) && !errors.Is(err, errSlow):
		return err
	case len(at) == 1:
		reject(at[0], err)
		return nil
	}
	half := len(at) / 2
	return errors.Join(inHalves(ctx, at[:half], store, reject), inHalves(ctx, at[half:], store, reject))
}

// finishDone deletes the rows of the outcomes at positions, except locked ones.
func (b *postgresBackend) finishDone(ctx context.Context, worker int64, f *finishing, at []int) error {
	r := refsAt(f.outcomes, at)
	var gone []bool
	err := b.insist(ctx, func(ctx context.Context) error {
		return b.inTx(ctx, b.settings(batchWait, true), func(t *txn) error {
			gone = make([]bool, len(at))
			return t.write(ctx, query(scanPositions(gone), doneSQL, r.key, r.generation), execute(countRemovalSQL, slices.Max(r.generation)))
		})
	})
	if err == nil {
		b.acks.note(worker, r)
	}
	for n := range gone {
		f.applied[at[n]], f.met[at[n]] = gone[n] && err == nil, gone[n]
	}
	return err
}

// finishOthers stores the outcomes at positions, except those of locked rows.
func (b *postgresBackend) finishOthers(ctx context.Context, worker int64, f *finishing, at []int) error {
	var damaged map[backend.Ref]error
	err := b.insist(ctx, func(ctx context.Context) error {
		return divisible(len(at), b.inTx(ctx, b.settings(batchWait, false), func(t *txn) error {
			l, err := b.lockRefs(ctx, t, refsAt(f.outcomes, at), " SKIP LOCKED")
			if err != nil {
				return err
			}
			damaged = l.damaged
			var w writes
			for n, i := range at {
				o := &f.outcomes[i]
				row := l.find(o.Ref)
				f.met[i] = row != nil || damaged[o.Ref] != nil
				var change backend.Change
				change, f.applied[i] = o.Decide(row, worker, l.now, l.generations[n])
				w.add(l.rows[o.Key], change)
			}
			return w.store(ctx, t)
		}))
	})
	for _, i := range at {
		f.applied[i] = f.applied[i] && err == nil
	}
	for _, damage := range damaged {
		if err == nil {
			b.options.Logger.Error("durable: the outcome of a damaged entry is lost", "error", damage)
		}
	}
	return err
}

func refsAt(outcomes []backend.Outcome, at []int) (r refs) {
	for _, i := range at {
		r.add(outcomes[i].Ref)
	}
	return r
}
