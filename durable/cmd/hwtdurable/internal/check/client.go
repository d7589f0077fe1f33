package check

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
)

// client performs random operations.
type client struct {
	Config
	store   *place.Store
	journal *lines

	number atomic.Int64 // of the last operation

	mu   sync.Mutex
	seen map[string]uint64 // last generation of a key in an answer. Guarded by mu.
}

func (c *client) run(ctx context.Context) error {
	for ctx.Err() == nil {
		drawn := c.draw()
		calls := 1
		if drawn[0].Kind == Requeue { // concurrent with itself
			calls = 3
		}
		errs := make(chan error, calls)
		for range calls {
			go func() { errs <- c.do(ctx, slices.Clone(drawn)) }()
		}
		for range calls {
			if err := <-errs; err != nil {
				return err
			}
		}
	}
	return nil
}

// do performs a call between the two lines of the journal for each of its keys.
func (c *client) do(ctx context.Context, all []Record) error {
	for i := range all {
		all[i].Number, all[i].At = c.number.Add(1), now()
		if err := c.journal.add(all[i]); err != nil {
			return err
		}
	}
	timed, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	e, err := c.perform(timed, all)
	answer := Record{At: now(), Outcome: outcomeOf(err)}
	if answer.Outcome == Failed && c.lost(timed, all[0], err) {
		answer.Outcome = Unknown
	}
	if err == nil && len(all) == 1 && all[0].Kind != Discard {
		answer.describe(e)
	}
	if answer.Outcome == Unknown || answer.Outcome == Failed {
		answer.Error = err.Error()
	}
	c.learn(all[0].Key, answer)
	for _, r := range all {
		answer.Number = r.Number
		if err := c.journal.add(answer); err != nil {
			return err
		}
	}
	if errors.Is(err, durable.ErrClosed) {
		return err
	}
	return nil
}

const (
	group   = 4                // keys with a common prefix
	life    = 5                // seconds until new keys replace all
	timeout = 20 * time.Second // of a call
)

// draw chooses an operation on a key, or on all keys of a group. Keys of all processes are the
// same at the same time.
func (c *client) draw() (all []Record) {
	kinds := []Kind{Set, Set, Create, Create, Move, Move, Cancel, Cancel, Get, SetIf, MoveIf, CancelIf, Requeue, Requeue, Discard,
		SetMany, CancelMany}
	kind, n, size, age := kinds[rand.IntN(len(kinds))], rand.IntN(c.Keys), 1, int64(0)
	switch {
	case kind != SetMany && kind != CancelMany:
	case c.Single || rand.IntN(4) > 0: // more would cost the judge too much time
		kind = Get
	default:
		n, size = n/group*group, group
	}
	if !c.Far {
		age = time.Now().Unix() / life
	}
	for i := n; i < n+size; i++ {
		all = append(all, c.intent(kind, fmt.Sprintf("%s%d-%d.%d", c.kindOf(i/group), age, i/group, i%group)))
	}
	return all
}

func (c *client) intent(kind Kind, key string) Record {
	r := Record{Kind: kind, Key: key}
	switch r.Kind {
	case Set, Create, SetIf, SetMany:
		r.Due = c.due()
		if rand.IntN(4) == 0 { // of all orders of magnitude up to seconds
			r.NotAfter = time.Unix(0, r.Due+rand.Int64N(1<<rand.IntN(34))).UTC()
		}
		r.Payload = sum(c.entry(r))
	case Move, MoveIf:
		r.Due = c.due()
	}
	switch r.Kind {
	case Set, Create, Move, Cancel:
		r.Tx = []string{commit, rollback, 13: ""}[rand.IntN(14)]
	case SetIf, MoveIf, CancelIf, Requeue, Discard:
		c.mu.Lock()
		defer c.mu.Unlock()
		r.If = max(c.seen[r.Key], 1) // 1 is of another key
	}
	return r
}

// due returns a due time that no other operation has.
func (c *client) due() int64 {
	if c.Far {
		return now() + int64(24*time.Hour) + rand.Int64N(int64(time.Hour))
	}
	return now() + rand.Int64N(int64(6*time.Second))
}

func (c *client) learn(key string, answer Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil || len(c.seen) > 10_000 {
		c.seen = make(map[string]uint64)
	}
	if answer.Generation != 0 {
		c.seen[key] = answer.Generation
	}
}

// perform performs an operation. In a transaction that is rolled back, it has no effect.
func (c *client) perform(ctx context.Context, all []Record) (e durable.Entry, err error) {
	r := all[0]
	switch {
	case r.Kind == SetMany:
		var entries []durable.Entry
		for _, r := range all {
			entries = append(entries, c.entry(r))
		}
		n, err := c.store.SetMany(ctx, slices.Values(entries))
		if err == nil && n != len(all) {
			err = fmt.Errorf("SetMany stored %d entries of %d", n, len(all))
		}
		return e, err
	case r.Kind == CancelMany:
		_, err := c.store.CancelMany(ctx, durable.Scope{Prefix: strings.TrimSuffix(r.Key, "0")})
		return e, err
	case r.Tx == "":
		return c.call(ctx, c.store.Entries, r)
	}
	err = c.store.InTx(ctx, func(tx durable.Tx) (err error) {
		if e, err = c.call(ctx, tx.Entries, r); err == nil && r.Tx == rollback {
			err = errRollback
		}
		return err
	})
	if errors.Is(err, errRollback) {
		err = nil
	}
	return e, err
}

var errRollback = errors.New("rolled back on purpose")

// entry returns the entry of an operation. The payload begins with the due time, which is unique.
// The due time determines the size, the group, and the headers.
func (c *client) entry(r Record) durable.Entry {
	text := fmt.Sprint(r.Due, " ", r.Key, " ")
	n := c.Payload + len(fmt.Sprint(r.Due)) + int(r.Due%300)
	e := durable.Entry{Key: r.Key, Due: time.Unix(0, r.Due), NotAfter: r.NotAfter, Payload: []byte(strings.Repeat(text, n/len(text)+1))[:n]}
	if i := r.Due % 4; i > 0 {
		e.Group, e.Headers = fmt.Sprint(groupPrefix, i), map[string]string{"due": fmt.Sprint(r.Due)}
	}
	return e
}

// call performs an operation on single entries by the given view of the store.
func (c *client) call(ctx context.Context, entries durable.Entries, r Record) (durable.Entry, error) {
	if r.Kind == SetIf || r.Kind == MoveIf || r.Kind == CancelIf {
		entries = entries.If(r.If)
	}
	switch r.Kind {
	case Set, SetIf:
		return entries.Set(ctx, c.entry(r))
	case Create:
		return entries.Create(ctx, c.entry(r))
	case Move, MoveIf:
		return entries.Move(ctx, r.Key, time.Unix(0, r.Due))
	case Cancel, CancelIf:
		return entries.Cancel(ctx, r.Key)
	case Requeue:
		return entries.Requeue(ctx, r.Key, r.If)
	case Discard:
		return durable.Entry{}, entries.Discard(ctx, r.Key, r.If)
	}
	return entries.Get(ctx, r.Key)
}

// lost reports whether an error may leave the outcome of an operation open: its context
// has ended, a full file system lost the end of the commit, or the connection to
// PostgreSQL broke. The library repeats a request after that, except in a transaction.
func (c *client) lost(ctx context.Context, r Record, err error) bool {
	var server *pgconn.PgError
	switch {
	case errors.Is(err, durable.ErrClosed) && strings.Contains(err.Error(), "while it was open"): // its log was deleted
		return true
	case errors.Is(err, durable.ErrClosed), errors.Is(err, durable.ErrDamaged):
		return false
	case ctx.Err() != nil:
		return true
	case c.Place.File != "":
		return strings.Contains(err.Error(), "commit: the file system is full")
	case r.Tx == "":
		return strings.Contains(err.Error(), "the answer to COMMIT is lost")
	case errors.As(err, &server): // it ends the connection, starts up, or is a standby
		return strings.HasPrefix(server.Code, "57P") || server.Code == "25006"
	}
	return true
}
