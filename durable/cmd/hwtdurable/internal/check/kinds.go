package check

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

// The kinds of keys.
const (
	jobPrefix    = "job/"    // of clients
	serialPrefix = "serial/" // of clients, with the option Serial
	seriesPrefix = "series/"
	probePrefix  = "probe/"  // for the entries of faults; the faults check these entries, and journals have only the firings
	crashPrefix  = "crash/"  // of an entry that kills its workers, and of its neighbors
	limitPrefix  = "limit/"  // of entries with limits
	otherPrefix  = "zother/" // no worker handles them
	groupPrefix  = "tenant-"

	others        = 100 // entries of the kind that no worker handles
	maxCrashes    = 3
	poisonKey     = crashPrefix + "poison"
	pausedKey     = jobPrefix + "paused" // in each scope that is paused
	crossedPrefix = probePrefix + "crossed-"
	crowdedKey    = serialPrefix + "crowded"
	pausesFile    = "pauses"
)

// kinds are the kinds that workers handle.
var kinds = map[string]durable.WorkOptions{
	jobPrefix:    {},
	serialPrefix: {Serial: true},
	seriesPrefix: {},
	probePrefix:  {MaxHeld: 800}, // a group may hold half, less than the backlog of limits.go
	crashPrefix:  {MaxCrashes: maxCrashes},
	limitPrefix:  {},
}

// kindOf returns the kind of the keys of a group.
func (c Config) kindOf(group int) string {
	if c.Kinds && group%8 == 0 {
		return serialPrefix
	}
	return jobPrefix
}

// isProbe reports whether a fault checks the entries of a key itself.
func isProbe(key string) bool {
	kinds := []string{probePrefix, crashPrefix, limitPrefix}
	return slices.Contains(kinds, backend.KindOf(key)) || key == pausedKey || key == crowdedKey
}

// alone reports whether handlers of the key do not overlap.
func alone(key string) bool {
	return strings.HasPrefix(key, serialPrefix) || key == seriesPrefix+"skip" || key == seriesPrefix+"queue"
}

// setMany sets entries with equal intervals from the due time of the first one on. Their keys begin with its key.
func setMany(ctx context.Context, store *place.Store, first durable.Entry, n int, span time.Duration) error {
	_, err := store.SetMany(ctx, func(yield func(durable.Entry) bool) {
		for i := range n {
			e := first
			e.Key, e.Due = numbered(first.Key, i), first.Due.Add(span/time.Duration(n)*time.Duration(i))
			if !yield(e) {
				return
			}
		}
	})
	return err
}

func numbered(prefix string, i int) string { return fmt.Sprintf("%s%08d", prefix, i) }

// paused is a line of the file of pauses: no entry of the scope is claimed between two times.
type paused struct {
	durable.Scope
	From, To int64
}

// has reports whether a firing is in a scope.
func has(s durable.Scope, f Firing) bool {
	return strings.HasPrefix(f.Key, s.Prefix) && (s.Group == "" || s.Group == f.Group)
}

// pause pauses some of the entries, kills a worker, and resumes the entries later. An entry past
// its NotAfter becomes a dead letter only after the pause (promise 11).
func (s *scene) pause(ctx context.Context) error {
	begin, group := now(), fmt.Sprint(groupPrefix, 1)
	scopes := []durable.Scope{{All: true}, {Prefix: jobPrefix}, {Group: group}, {Prefix: jobPrefix, Group: group}}
	p := paused{Scope: scopes[rand.IntN(len(scopes))]}
	return s.withStore(ctx, func(store *place.Store) error {
		if err := store.Pause(ctx, durable.Pause{Scope: p.Scope, Reason: "check"}); err != nil {
			return err
		}
		p.From = now()
		soon := time.Now().Add(200 * time.Millisecond)
		_, err := store.Set(ctx, durable.Entry{Key: pausedKey, Group: group, Due: time.Now(), NotAfter: soon})
		if err == nil {
			err = s.kill(ctx, len(s.configs)-1)
		}
		proc.Sleep(ctx, time.Second+rand.N(lease))
		if _, lost := store.Get(ctx, pausedKey); lost != nil {
			err = errors.Join(err, fmt.Errorf("an entry that expired during a pause: %w", lost))
		}
		p.To = now()
		if err := errors.Join(err, store.Resume(ctx, p.Scope), addLines(filepath.Join(s.dir, pausesFile), p)); err != nil {
			return err
		}
		s.note("pause", begin, noProcess)
		return s.awaitLetter(ctx, store, pausedKey, durable.Expired)
	})
}

// poison sets an entry with a handler that ends the process, and neighbors that are due at the same
// time. The entry becomes a dead letter (promise 9), and the neighbors fire.
func (s *scene) poison(ctx context.Context) error {
	return s.withStore(ctx, func(store *place.Store) error {
		due := time.Now().Add(time.Second)
		_, err := store.Set(ctx, durable.Entry{Key: poisonKey, Due: due})
		if err == nil {
			err = setMany(ctx, store, durable.Entry{Key: crashPrefix, Due: due}, 20, 0)
		}
		if err == nil {
			err = s.awaitLetter(ctx, store, poisonKey, durable.Crashed)
		}
		if err == nil {
			err = awaitFired(ctx, store, crashPrefix, time.Minute)
		}
		for e, failed := range store.All(ctx, crashPrefix) {
			err = errors.Join(err, failed, fmt.Errorf("%q, a neighbor of an entry that ended its workers, does not fire", e.Key))
		}
		for d, failed := range store.Dead(ctx, crashPrefix) {
			err = errors.Join(err, failed, fmt.Errorf("%q, a neighbor of an entry that ended its workers, is a dead letter: %v", d.Key, d.Reason))
		}
		return err
	})
}

// awaitLetter waits for the dead letter of a key, and discards it. awaitLetter starts processes
// that have ended.
func (s *scene) awaitLetter(ctx context.Context, store *place.Store, key string, reason durable.Reason) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && ctx.Err() == nil; proc.Sleep(ctx, 50*time.Millisecond) {
		begin := now()
		for d, err := range store.Dead(ctx, key) {
			if err == nil && d.Reason != reason {
				err = fmt.Errorf("the dead letter of %q has the reason %q (expected: %q)", key, d.Reason, reason)
			}
			return errors.Join(err, store.Discard(ctx, key, d.Generation))
		}
		for i, p := range s.procs {
			select {
			case <-p.Ended():
				err := s.over(ctx, p)
				s.note("handler that ends its "+s.role(i), begin, []int{p.PID()}).Stops = true
				if err = errors.Join(err, s.start(ctx, i)); err != nil {
					return err
				}
			default:
			}
		}
	}
	return fmt.Errorf("%q is no dead letter after a minute", key)
}
