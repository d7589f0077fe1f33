package check

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

const limitsFile = "limits"

// limited is a line of the file of limits: the handlers of the scope kept the limit between two times.
type limited struct {
	durable.Scope
	durable.Limit
	From, To int64
}

// counted is the time after which a first limit counts the handlers that ran before the limit.
const counted = 500 * time.Millisecond

// limit bounds handlers that overlap otherwise, and changes the limit, while a worker dies, stalls, or is deployed
// (promise 12).
func (s *scene) limit(ctx context.Context) error {
	begin, group := now(), fmt.Sprint(groupPrefix, 1)
	scope := []durable.Scope{{Prefix: limitPrefix}, {Group: group}, {Prefix: limitPrefix, Group: group}}[rand.IntN(3)]
	return s.withStore(ctx, func(store *place.Store) error {
		for i, l := range []durable.Limit{{Running: 6}, {Running: 2}, {Running: 50, PerSecond: 20, Burst: 2}} {
			held := limited{Scope: scope, Limit: l}
			err := store.Limit(ctx, scope, l)
			if held.From = now(); i == 0 {
				held.From += int64(counted)
			}
			if err == nil {
				err = setMany(ctx, store, durable.Entry{Key: fmt.Sprint(limitPrefix, i, "-"), Due: time.Now(), Group: group}, 100, time.Second)
			}
			if err == nil {
				end := []func(context.Context, int) error{s.kill, s.stop, s.deploy}[rand.IntN(3)]
				err = end(ctx, len(s.configs)-1)
			}
			proc.Sleep(ctx, time.Second)
			held.To = now()
			if err = errors.Join(err, addLines(filepath.Join(s.dir, limitsFile), held)); err != nil {
				return err
			}
		}
		s.note("limit", begin, noProcess)
		return errors.Join(store.RemoveLimit(ctx, scope), awaitFired(ctx, store, limitPrefix, time.Minute))
	})
}

// serial sets a serial key again and again, while its entries fire (promise 10).
func (s *scene) serial(ctx context.Context) error {
	begin := now()
	return s.withStore(ctx, func(store *place.Store) (err error) {
		for end := time.Now().Add(5 * time.Second); err == nil && time.Now().Before(end); proc.Sleep(ctx, rand.N(100*time.Millisecond)) {
			_, err = store.Set(ctx, durable.Entry{Key: crowdedKey, Due: time.Now()})
		}
		s.note("serial key set again and again", begin, noProcess)
		return err
	})
}

const (
	backlogPrefix = probePrefix + "backlog-"
	turnKey       = probePrefix + "turn"
	backlog       = 4000
)

// fair sets a backlog of a group, and then an entry of another group. Of the firings of the backlog that are left when
// the entry has been stored, a quarter come after the entry, which waits for a look and a batch of claims.
func (s *scene) fair(ctx context.Context) error {
	begin := now()
	return s.withStore(ctx, func(store *place.Store) error {
		err := setMany(ctx, store, durable.Entry{Key: backlogPrefix, Due: time.Now(), Group: groupPrefix + "1"}, backlog, 0)
		if err == nil {
			_, err = store.Set(ctx, durable.Entry{Key: turnKey, Due: time.Now(), Group: groupPrefix + "2"})
		}
		stored := now()
		if err == nil {
			err = awaitFired(ctx, store, probePrefix, time.Minute)
		}
		if err != nil {
			return err
		}
		var turn int64
		var fired []int64
		err = readLines(filepath.Join(s.dir, "firings-*"), func(_ string, f Firing) {
			if f.Key == turnKey && f.At > begin {
				turn = f.At
			} else if strings.HasPrefix(f.Key, backlogPrefix) && f.At > begin {
				fired = append(fired, f.At)
			}
		})
		left, after := 0, 0
		for _, at := range fired {
			if at > stored {
				left++
			}
			if at > turn {
				after++
			}
		}
		s.note("backlog of a group", begin, noProcess)
		if err == nil && (turn == 0 || left > backlog/10 && after < left/4) {
			err = fmt.Errorf("an entry of another group fired at %d, before %d of the %d firings of a backlog that were left (expected: before a quarter or more)", turn, after, left)
		}
		return err
	})
}
