package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// DeadLetter is an entry that used up its attempts, was given up, killed its workers, or could not
// fire by NotAfter.
type DeadLetter struct {
	Entry
	ID      string    // ID of its firings
	Reason  Reason    // why the entry became a dead letter
	Error   string    // text of the last error, up to 1 KB
	GivenUp time.Time // time of the last attempt's end
}

// Dead returns the dead letters with keys that start with prefix, ordered by key and
// generation. It reads pages, as All does. For a damaged dead letter, Dead yields an error that
// wraps ErrDamaged, with a DeadLetter that has only the Key and the Generation, for Discard,
// and continues as All does. Any other error ends the sequence.
func (s *Store) Dead(ctx context.Context, prefix string) iter.Seq2[DeadLetter, error] {
	return sequence("Dead", prefix, backend.DeadPages(ctx, s.backend, prefix), deadLetter, unreadLetter)
}

func unreadLetter(ref backend.Ref) DeadLetter {
	return DeadLetter{Entry: Entry{Key: ref.Key, Generation: ref.Generation}}
}

func deadLetter(d *backend.Dead) (DeadLetter, error) {
	e, err := entryOf(&d.Row)
	if err != nil {
		return unreadLetter(d.Ref()), err
	}
	return DeadLetter{Entry: e, ID: firingID(&d.Row), Reason: reasonOf(d.Error), Error: d.Error, GivenUp: time.Unix(0, d.GivenUp).UTC()}, nil
}

// Letters selects dead letters: those that meet each condition that is set. A selection without
// conditions is ErrInvalid unless All is set.
type Letters struct {
	// Prefix begins the key, and Group is its group: see [Scope].
	Prefix, Group string

	// Reason is the reason for which the entries became dead letters.
	Reason Reason

	// Error is a part of the text of [DeadLetter.Error].
	Error string

	// Before is a time after GivenUp, on the database's clock.
	Before time.Time

	// All selects every dead letter. It excludes the conditions.
	All bool

	// PerSecond is the rate at which the entries of RequeueMany become due: 0.001 to 1,000,000. 0 is
	// the default: all of them are due immediately.
	PerSecond float64
}

// check returns the error of letters that no method accepts.
func (l *Letters) check() error {
	conditions := l.Prefix != "" || l.Group != "" || l.Reason != 0 || l.Error != "" || !l.Before.IsZero()
	switch {
	case !conditions && !l.All:
		return invalid("Letters without a condition (expected: Prefix, Group, Reason, Error, or Before, or All for every dead letter)")
	case conditions && l.All:
		return invalid("Letters.All with a condition (expected: one or the other)")
	case l.Reason < 0 || l.Reason > Crashed:
		return invalid("Letters.Reason %d (expected: 0 for any, Failed, Expired, or Crashed)", l.Reason)
	case l.PerSecond != 0 && !(l.PerSecond >= 0.001 && l.PerSecond <= 1e6):
		return invalid("Letters.PerSecond %v (expected: 0 for no limit, or 0.001 to 1000000)", l.PerSecond)
	}
	return nil
}

// selects reports whether d meets the conditions. A letter that was given up from the beginning of the call until now is
// left out, or a handler that always fails would keep the call from ending. A letter that is more than a minute later
// than now is from before the clock was set back.
func (l *Letters) selects(d *backend.Dead, begun, now time.Time) bool {
	at := time.Unix(0, d.GivenUp)
	return (!at.After(begun) || at.After(now.Add(time.Minute))) && (l.Before.IsZero() || at.Before(l.Before)) && strings.Contains(d.Error, l.Error) &&
		(l.Reason == 0 || l.Reason == reasonOf(d.Error)) && backend.Scope{Prefix: l.Prefix, Group: l.Group}.Has(&d.Row)
}

// RequeueMany turns the selected dead letters into pending entries, as Requeue does, in
// batches, and returns their number. They become due in the order of their keys, at the rate of
// PerSecond. It reads all dead letters with keys that start with Prefix. Letters that are given
// up during the call are left out.
//
// A damaged dead letter stays, and so does a dead letter if its key has a pending entry.
// RequeueMany then requeues the others, and returns an error that wraps ErrDamaged or ErrExists
// and names the first such letter. Any other error ends it.
func (s *Store) RequeueMany(ctx context.Context, letters Letters) (int, error) {
	due, pause := float64(s.now(ctx)), 0.0
	if letters.PerSecond != 0 {
		pause = float64(time.Second) / letters.PerSecond
	}
	return s.letters(ctx, "RequeueMany", letters, func(d *backend.Dead) backend.Op {
		row := backend.Row{Key: d.Key, Due: int64(min(due, math.MaxInt64/2))}
		due += pause
		return backend.Op{Kind: backend.Requeue, Row: row, If: d.Generation}
	})
}

// DiscardMany deletes the selected dead letters, in batches, and returns their number. It reads dead
// letters as RequeueMany does, and treats damaged ones in the same way: see Discard. PerSecond must be
// 0.
func (s *Store) DiscardMany(ctx context.Context, letters Letters) (int, error) {
	if letters.PerSecond != 0 {
		return 0, fmt.Errorf("durable: DiscardMany: %w", invalid("Letters.PerSecond %v (expected: 0)", letters.PerSecond))
	}
	return s.letters(ctx, "DiscardMany", letters, func(d *backend.Dead) backend.Op {
		return backend.Op{Kind: backend.Discard, Row: backend.Row{Key: d.Key}, If: d.Generation}
	})
}

// letters performs op for the selected dead letters. It returns the number of operations that took
// place.
func (s *Store) letters(ctx context.Context, name string, l Letters, op func(*backend.Dead) backend.Op) (done int, err error) {
	var begun time.Time
	if err = l.check(); err == nil {
		begun, err = s.backend.Now(ctx)
	}
	read := time.Now()
	if err != nil {
		return 0, fmt.Errorf("durable: %s: %w", name, err)
	}
	var stays error // the reason for the first one
	for page, unreadErr := range backend.DeadPages(ctx, s.backend, l.Prefix) {
		var ops []backend.Op
		now := begun.Add(time.Since(read))
		for i := range page {
			if l.selects(&page[i], begun, now) {
				ops = append(ops, op(&page[i]))
			}
		}
		n, kept, err := s.applyLetters(ctx, name, ops)
		done, stays = done+n, cmp.Or(stays, kept)
		if err != nil {
			return done, err
		}
		if unreadErr != nil {
			ref, err := unread(name, l.Prefix, unreadErr)
			if ref.Key == "" {
				return done, err
			}
			stays = cmp.Or(stays, err)
		}
	}
	return done, stays
}

// applyLetters performs the operations for a page. It returns their number, and the reason for the
// first letter that stays.
func (s *Store) applyLetters(ctx context.Context, name string, ops []backend.Op) (done int, stays, err error) {
	if len(ops) == 0 {
		return 0, nil, nil
	}
	results, err := s.applyAll(ctx, ops)
	if err != nil {
		return 0, nil, fmt.Errorf("durable: %s: %w", name, err)
	}
	for i, r := range results {
		switch {
		case r.Err == nil:
			done++
		case errors.Is(r.Err, ErrExists) || errors.Is(r.Err, ErrDamaged):
			stays = cmp.Or(stays, wrap(name, ops[i].Row.Key, r.Err))
		case !errors.Is(r.Err, ErrNotFound): // another call was faster
			return done, stays, wrap(name, ops[i].Row.Key, r.Err)
		}
	}
	return done, stays, nil
}

// discardOld deletes dead letters that are older than Options.KeepDead until ctx ends.
func (s *Store) discardOld(ctx context.Context) {
	keep := s.options.KeepDead
	if keep == 0 {
		return
	}
	look := time.NewTicker(min(keep, time.Hour))
	defer look.Stop()
	for {
		_, err := s.DiscardMany(ctx, Letters{Before: time.Unix(0, s.now(ctx)).Add(-keep)})
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
			s.trouble("durable: cannot discard old dead letters; retrying", err)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}
