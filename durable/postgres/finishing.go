package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/hashedwheel/hwt/durable/backend"
)

// finishing stores outcomes of different rows: all outcomes with the fate Done in one transaction,
// the other outcomes in separate transactions. The slices of bool have the indexes of outcomes.
type finishing struct {
	*session
	worker   int64
	outcomes []backend.Outcome
	applied  []bool
	met      []bool      // rows that are not locked
	locked   []bool      // rows to which the outcomes may apply, which are locked or have moved aside
	rejected []rejection // outcomes that fail alone
}

// rejection is an outcome that the database rejects, and its error.
type rejection struct {
	backend.Outcome
	err error
}

// finish stores outcomes of different rows.
func finish(ctx context.Context, s *session, worker int64, outcomes []backend.Outcome) (*finishing, error) {
	n := len(outcomes)
	f := &finishing{session: s, worker: worker, outcomes: outcomes,
		applied: make([]bool, n), met: make([]bool, n), locked: make([]bool, n)}
	var done, others []int
	for i := range outcomes {
		if outcomes[i].Fate == backend.Done {
			done = append(done, i)
		} else {
			others = append(others, i)
		}
	}
	var err error
	for some := range slices.Chunk(done, maxBatch) {
		err = errors.Join(err, inHalves(ctx, some, func(at []int) error { return f.done(ctx, at) }, f.reject))
	}
	for some := range slices.Chunk(others, maxRewritten) {
		err = errors.Join(err, inHalves(ctx, some, func(at []int) error { return f.others(ctx, at) }, f.reject))
	}
	if err == nil {
		f.note(ctx)
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
	r, exist, successes := refsAt(outcomes, at), make([]bool, len(at)), make([]bool, len(at))
	for n, i := range at {
		successes[n] = outcomes[i].Fate == backend.Done
	}
	err = s.insist(ctx, func(ctx context.Context) error {
		clear(exist)
		return s.simple(ctx, query(scanPositions(exist), existingSQL, r.key, r.generation, f.worker, successes))
	})
	for n, i := range at {
		f.locked[i] = exist[n]
	}
	return f, err
}

// note stores the Last of outcomes: see Notes. The outcomes are stored if that fails.
func (f *finishing) note(ctx context.Context) {
	var keys, every, last [][]byte
	known := make(map[string]bool)
	for i := len(f.outcomes) - 1; i >= 0; i-- { // the last one of a key counts
		if o := &f.outcomes[i]; o.Last != "" && (f.applied[i] || o.InTx) && !known[o.Key] {
			known[o.Key] = true
			keys, every, last = append(keys, []byte(o.Key)), append(every, []byte(o.Every)), append(last, []byte(o.Last))
		}
	}
	if len(keys) == 0 {
		return
	}
	err := f.insist(ctx, func(ctx context.Context) error {
		return f.inTx(ctx, f.settings(batchWait, true), func(t *txn) error {
			return t.write(ctx, execute(lastSQL, keys, every, last))
		})
	})
	if err != nil && ctx.Err() == nil && f.ctx.Err() == nil {
		f.options.Logger.Warn("durable: cannot store the last outcomes of series", "error", err)
	}
}

// reject sets an outcome apart.
func (f *finishing) reject(i int, err error) {
	f.rejected = append(f.rejected, rejection{f.outcomes[i], about(f.outcomes[i].Ref, err)})
	f.met[i] = true
}

// done deletes the rows of the outcomes at positions, except locked ones, and those for which handlers of other workers may run.
func (f *finishing) done(ctx context.Context, at []int) error {
	r := refsAt(f.outcomes, at)
	var gone []bool
	err := f.insist(ctx, func(ctx context.Context) error {
		return f.inTx(ctx, f.settings(batchWait, true), func(t *txn) error {
			gone = make([]bool, len(at))
			return t.write(ctx, query(scanPositions(gone), doneSQL, r.key, r.generation, f.worker), execute(countRemovalSQL, slices.Max(r.generation)))
		})
	})
	if err == nil {
		f.acks.note(f.worker, r)
	}
	for n := range gone {
		f.applied[at[n]], f.met[at[n]] = gone[n] && err == nil, gone[n]
	}
	return err
}

// others stores the outcomes at positions, except outcomes of locked rows.
func (f *finishing) others(ctx context.Context, at []int) error {
	var damaged map[backend.Ref]error
	err := f.insist(ctx, func(ctx context.Context) error {
		return divisible(len(at), f.inTx(ctx, f.settings(batchWait, false), func(t *txn) error {
			l, err := lockRefs(ctx, t, refsAt(f.outcomes, at), " SKIP LOCKED")
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
				change, f.applied[i] = o.Decide(row, f.worker, l.now, l.generations[n])
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
			f.options.Logger.Error("durable: the outcome of a damaged entry is lost", "error", damage)
		}
	}
	return err
}
