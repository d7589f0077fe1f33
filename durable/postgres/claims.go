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

// Claim implements [backend.Backend]. A row that another transaction has locked is not claimed:
// the lease is returned once the row is unlocked. If the database rejects the claim of a row,
// the lease is returned after a pause.
func (l claims) Claim(ctx context.Context, worker int64, claims []backend.Claim) ([]backend.Answer, error) {
	c := claiming{leases: l.leases, worker: worker, claims: claims, answers: make([]backend.Answer, len(claims))}
	simple, again, others := divide(claims)
	for _, i := range again {
		c.answers[i] = backend.Waits // unless the database answers: the row stays claimed
	}
	err := inHalves(ctx, simple, func(at []int) error { return c.run(ctx, at, c.simple) }, c.reject)
	if err != nil && !slices.Contains(c.answers, backend.Won) {
		return nil, err
	}
	err = errors.Join(err, inHalves(ctx, again, func(at []int) error { return c.run(ctx, at, c.again) }, c.reject))
	c.failed = errors.Join(c.failed, err)
	for n := 0; len(others) > 0; others = others[n:] {
		n = sharing(claims, others)
		err := inHalves(ctx, others[:n], func(at []int) error { return c.run(ctx, at, c.others) }, c.reject)
		if c.failed = errors.Join(c.failed, err); ctx.Err() != nil || errors.Is(err, backend.ErrLeaseLost) {
			break
		}
	}
	for i := range claims {
		if c.answers[i] == backend.Overtaken { // or it is locked, or failed: the other claims are stored
			l.returner.giveBack(worker, claims[i].Ref, 0)
		}
	}
	return c.answers, c.failed
}

// divide returns the positions of claims that one statement makes, of claims with Again, and of the others. A
// row is claimed once. All claims of a key on which another row may have an effect are among the others, in order.
func divide(claims []backend.Claim) (simple, again, others []int) {
	ordered := make(map[string]struct{})
	for i := range claims {
		if claims[i].Busy != backend.Ignore {
			ordered[claims[i].Key] = struct{}{}
		}
	}
	known := make(map[backend.Ref]struct{})
	for i := range claims {
		c := &claims[i]
		_, wait := ordered[c.Key]
		if _, twice := known[c.Ref]; twice && !wait {
			continue
		}
		known[c.Ref] = struct{}{}
		if c.Again {
			again = append(again, i)
		} else if !wait && c.Next == nil && !c.Skip && c.Due == 0 {
			simple = append(simple, i)
		} else {
			others = append(others, i)
		}
	}
	return simple, again, others
}

// sharing returns the number of claims at positions, from the first on, that share a transaction:
// the transaction reads and writes the payloads. After a timeout, a repetition would find the rows
// locked.
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
	answers []backend.Answer // by position
	failed  error            // of single claims

	some    []backend.Answer // of a transaction, for each of its positions
	damaged error            // of its rows
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
		c.some, c.damaged = make([]backend.Answer, len(at)), nil
		return f(ctx, t, at, r)
	})
	if errors.Is(err, errUnknown) {
		var won refs // no others: owned would wait for the transactions that have locked them
		for n := range at {
			if c.some[n] == backend.Won {
				won.add(r.at(n))
			}
		}
		var held intact
		held, err = c.owned(ctx, c.worker, won)
		for n := range at {
			if c.some[n] != backend.Waits {
				c.some[n] = answer(slices.ContainsFunc(held.rows, func(row backend.Row) bool { return row.Ref() == r.at(n) && row.State == backend.Claimed }))
			}
		}
	}
	if err != nil {
		return err
	}
	for n, i := range at {
		c.answers[i] = c.some[n]
	}
	c.failed = errors.Join(c.failed, c.damaged)
	return nil
}

func answer(won bool) backend.Answer {
	if won {
		return backend.Won
	}
	return backend.Overtaken
}

// simple claims rows without a next occurrence by one statement.
func (c *claiming) simple(ctx context.Context, t *txn, _ []int, r refs) error {
	won := make([]bool, len(c.some))
	err := t.write(ctx, query(scanPositions(won), claimSQL, r.key, r.generation, c.worker))
	for n := range won {
		c.some[n] = answer(won[n])
	}
	return err
}

// again claims rows again. A row that another transaction has locked waits.
func (c *claiming) again(ctx context.Context, t *txn, _ []int, r refs) error {
	own, won := make([]bool, len(c.some)), make([]bool, len(c.some))
	err := t.run(ctx, query(scanPositions(own), ownSQL, r.key, r.generation, c.worker))
	if err == nil {
		err = t.write(ctx, query(scanPositions(won), claimAgainSQL, r.key, r.generation, c.worker))
	}
	for n := range won {
		if c.some[n] = answer(won[n]); own[n] && !won[n] {
			c.some[n] = backend.Waits
		}
	}
	return err
}

// others makes claims that store next occurrences, skip some, or depend on other rows of their
// keys. others leaves out rows that another transaction has locked.
func (c *claiming) others(ctx context.Context, t *txn, at []int, r refs) error {
	busy, err := c.busyKeys(ctx, t, at)
	if err != nil {
		return err
	}
	stopped := make([]bool, len(at))
	if err := t.run(ctx, query(scanPositions(stopped), pausedRowsSQL, r.key, r.generation)); err != nil {
		return err
	}
	l, err := lockRefs(ctx, t, r, " SKIP LOCKED")
	if err != nil {
		return err
	}
	c.damaged = errors.Join(slices.Collect(maps.Values(l.damaged))...)
	var w writes
	var made []backend.Ref
	for n, i := range at {
		claim := &c.claims[i]
		if stopped[n] || slices.Contains(made, claim.Ref) {
			continue
		}
		if claim.Busy != backend.Ignore && busy.contended[claim.Key] {
			c.some[n] = backend.Waits
			continue
		}
		var change backend.Change
		change, c.some[n] = claim.Decide(l.find(claim.Ref), busy.with(claim.Ref), c.worker, l.generations[n])
		if c.some[n] == backend.Won || c.some[n] == backend.Skipped {
			made = append(made, claim.Ref)
		}
		if slices.ContainsFunc(change.Put, func(row backend.Row) bool { return row.State == backend.Claimed }) {
			busy.claimed.add(claim.Ref)
		}
		w.add(l.rows[claim.Key], change)
	}
	return w.store(ctx, t)
}

// busy are the claimed rows of keys.
type busy struct {
	claimed   refs
	contended map[string]bool // keys of which another transaction may be claiming a row
}

// with reports whether a row other than the named one is claimed.
func (b *busy) with(ref backend.Ref) bool {
	for i := range b.claimed.key {
		if other := b.claimed.at(i); other.Key == ref.Key && other.Generation != ref.Generation {
			return true
		}
	}
	return false
}

// busyKeys reads the claimed rows of the keys with claims that depend on them. Before the read,
// busyKeys locks the keys against other such claims, until the transaction ends: two
// transactions that claim different rows of a key would not see each other.
func (c *claiming) busyKeys(ctx context.Context, t *txn, at []int) (b busy, err error) {
	var keys [][]byte
	for _, i := range at {
		if c.claims[i].Busy != backend.Ignore {
			keys = append(keys, []byte(c.claims[i].Key))
		}
	}
	if len(keys) == 0 {
		return b, nil
	}
	var contended []octets
	err = t.run(ctx, query(each(&contended), lockClaimsSQL, keys, c.options.Schema), query(func(scan scanner) error {
		var key octets
		var generation int64
		err := scan(&key, &generation)
		b.claimed.add(backend.Ref{Key: string(key), Generation: uint64(generation)})
		return err
	}, claimedSQL, keys))
	b.contended = make(map[string]bool)
	for _, key := range contended {
		b.contended[string(key)] = true
	}
	return b, err
}
