package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hashedwheel/hwt/durable/backend"
)

// claims makes claims of rows that are leased.
type claims struct{ *leases }

// Claim implements [backend.Backend]. A row that another transaction has locked is not
// claimed: its lease is returned once the row is unlocked. That of a row whose claim the database
// rejects is returned after a pause.
func (l claims) Claim(ctx context.Context, worker int64, claims []backend.Claim) ([]bool, error) {
	c := claiming{leases: l.leases, worker: worker, claims: claims, claimed: make([]bool, len(claims))}
	var simple, others []int                // simple are one-shots
	known := make(map[backend.Ref]struct{}) // a row is claimed once
	for i := range claims {
		if _, again := known[claims[i].Ref]; again {
			continue
		}
		known[claims[i].Ref] = struct{}{}
		if claims[i].Next == nil && !claims[i].Skip && claims[i].Due == 0 {
			simple = append(simple, i)
		} else {
			others = append(others, i)
		}
	}
	err := inHalves(ctx, simple, func(at []int) error { return c.run(ctx, at, c.simple) }, c.reject)
	if err != nil && !slices.Contains(c.claimed, true) {
		return nil, err
	}
	c.failed = errors.Join(c.failed, err)
	for n := 0; len(others) > 0; others = others[n:] {
		n = sharing(claims, others)
		err := inHalves(ctx, others[:n], func(at []int) error { return c.run(ctx, at, c.series) }, c.reject)
		if c.failed = errors.Join(c.failed, err); ctx.Err() != nil || errors.Is(err, backend.ErrLeaseLost) {
			break
		}
	}
	for i := range claims {
		if !c.claimed[i] { // it was overtaken, is locked, or failed: the other claims are stored
			l.returner.giveBack(worker, claims[i].Ref, 0)
		}
	}
	return c.claimed, c.failed
}

// sharing returns the number of claims at positions, from the first on, that share a transaction: it
// reads and writes their payloads. After a timeout, its repetition would find the rows locked.
func sharing(claims []backend.Claim, at []int) (n int) {
	for size := 0; n < len(at) && n < maxRewritten && size < maxBytes/8; n++ {
		if next := claims[at[n]].Next; next != nil {
			size += len(next.Payload)
		}
	}
	return n
}

// claiming is one call of Claim. at are positions in claims.
type claiming struct {
	*leases
	worker  int64
	claims  []backend.Claim
	claimed []bool // by position
	failed  error  // of single claims

	won     []bool // of a transaction, for each of its positions
	damaged error  // of its rows
}

func (c *claiming) reject(i int, err error) {
	c.returner.giveBack(c.worker, c.claims[i].Ref, maxRejectedPause)
	c.failed = errors.Join(c.failed, about(c.claims[i].Ref, err))
}

// run makes claims by f, in one transaction.
func (c *claiming) run(ctx context.Context, at []int, f func(ctx context.Context, t *txn, at []int, r refs) error) error {
	var r refs
	for _, i := range at {
		r.add(c.claims[i].Ref)
	}
	err := c.asWorker(ctx, c.worker, false, func(ctx context.Context, t *txn) error {
		c.won, c.damaged = make([]bool, len(at)), nil
		return f(ctx, t, at, r)
	})
	if errors.Is(err, errUnknown) {
		var held intact
		held, err = c.owned(ctx, c.worker, r)
		for n := range at {
			c.won[n] = slices.ContainsFunc(held.rows, func(row backend.Row) bool { return row.Ref() == r.at(n) && row.State == backend.Claimed })
		}
	}
	if err != nil {
		return err
	}
	for n, i := range at {
		c.claimed[i] = c.won[n]
	}
	c.failed = errors.Join(c.failed, c.damaged)
	return nil
}

// simple claims rows without a next occurrence by one statement.
func (c *claiming) simple(ctx context.Context, t *txn, _ []int, r refs) error {
	return t.write(ctx, query(scanPositions(c.won), claimSQL, r.key, r.generation, c.worker))
}

// series makes claims that store next occurrences or skip some. It leaves out rows that another
// transaction has locked.
func (c *claiming) series(ctx context.Context, t *txn, at []int, r refs) error {
	l, err := lockRefs(ctx, t, r, " SKIP LOCKED")
	if err != nil {
		return err
	}
	c.damaged = errors.Join(slices.Collect(maps.Values(l.damaged))...)
	var w writes
	for n, i := range at {
		var change backend.Change
		change, c.won[n] = c.claims[i].Decide(l.find(c.claims[i].Ref), c.worker, l.generations[n])
		w.add(l.rows[c.claims[i].Key], change)
	}
	return w.store(ctx, t)
}
